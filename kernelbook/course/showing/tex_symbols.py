"""The symbols, accents, fonts and environments of TeX that `mathml` knows, and how they look."""

GREEK = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
        "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
        "varepsilon vartheta varphi varrho varsigma ell hbar imath jmath Re Im aleph wp infty "
        "partial nabla emptyset varnothing".split(),
        "αβγδϵζηθικλμνξπρστυϕχψωΓΔΘΛΞΠΣΥΦΨΩεϑφϱςℓℏıȷℜℑℵ℘∞∂∇∅∅",
        strict=True,
    )
)
OPERATORS = dict(
    zip(
        "cdot times div pm mp ast star circ bullet oplus otimes odot ominus wedge vee cap cup "
        "setminus le leq ge geq ne neq equiv approx sim simeq cong propto ll gg prec succ "
        "preceq succeq in notin ni subset supset subseteq supseteq mid nmid parallel "
        "perp vdash models forall exists neg lnot land lor to rightarrow leftarrow leftrightarrow "
        "longrightarrow "
        "mapsto Rightarrow Leftarrow Leftrightarrow implies iff Longrightarrow hookrightarrow "
        "uparrow downarrow ldots cdots dots vdots ddots prime dagger colon coloneqq quad qquad "
        "langle rangle lfloor rfloor lceil rceil vert Vert lvert rvert lVert rVert backslash "
        "square Box blacksquare bigstar top bot angle therefore because gets dotsc dotsb".split(),
        "⋅ × ÷ ± ∓ ∗ ⋆ ∘ ∙ ⊕ ⊗ ⊙ ⊖ ∧ ∨ ∩ ∪ ∖ ≤ ≤ ≥ ≥ ≠ ≠ ≡ ≈ ∼ ≃ ≅ ∝ ≪ ≫ ≺ ≻ ⪯ ⪰ ∈ ∉ ∋ ⊂ ⊃ ⊆ ⊇ ∣ ∤ "
        "∥ ⊥ ⊢ ⊨ ∀ ∃ ¬ ¬ ∧ ∨ → → ← ↔ ⟶ ↦ ⇒ ⇐ ⇔ ⟹ ⟺ ⟹ ↪ ↑ ↓ … ⋯ … ⋮ ⋱ ′ † : ≔ \u2003 \u2003\u2003 "
        "⟨ ⟩ ⌊ ⌋ ⌈ ⌉ | ‖ | | ‖ ‖ \\ □ □ ■ ★ ⊤ ⊥ ∠ ∴ ∵ ← … ⋯".split(" "),
        strict=True,
    )
)
LARGE = dict(
    zip(
        "sum prod coprod int iint oint bigcup bigcap bigoplus bigotimes bigvee bigwedge".split(),
        "∑∏∐∫∬∮⋃⋂⨁⨂⋁⋀",
        strict=True,
    )
)
NAMED = set(
    "log ln exp sin cos tan arcsin arccos arctan sinh cosh tanh cot sec csc det dim ker gcd Pr arg "
    "deg hom lg".split()
)
LIMITS = set("lim limsup liminf max min sup inf argmin argmax".split())
ACCENTS = dict(
    zip(
        "hat widehat tilde widetilde bar overline vec dot ddot check breve acute grave".split(),
        "^^~~¯¯→˙¨ˇ˘´`",
        strict=True,
    )
)
SPACES = {",": "\u2009", ";": "\u2005", ":": "\u2005", " ": "\u00a0", "!": "", "/": ""}
STYLES = "displaystyle textstyle scriptstyle limits nolimits nonumber notag".split()
SIZES = [f"{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")]
# Letters in a font: their place in Unicode, and the exceptions that are older than the rule.
FONTS = {
    "mathbf": (0x1D400, 0x1D41A, 0x1D7CE, {}),
    "boldsymbol": (0x1D468, 0x1D482, 0x1D7CE, {}),
    "bm": (0x1D468, 0x1D482, 0x1D7CE, {}),
    "mathcal": (
        0x1D49C,
        0x1D4B6,
        None,
        dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True)),
    ),
    "mathbb": (0x1D538, 0x1D552, 0x1D7D8, dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))),
    "mathfrak": (0x1D504, 0x1D51E, None, dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True))),
    "mathsf": (0x1D5A0, 0x1D5BA, 0x1D7E2, {}),
    "mathtt": (0x1D670, 0x1D68A, 0x1D7F6, {}),
}
BOLD_GREEK = {"α": 0x1D6C2, "Α": 0x1D6A8}
MATRICES = {
    "matrix": ("", ""),
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "smallmatrix": ("", ""),
    "cases": ("{", ""),
    "array": ("", ""),
}
ALIGNED = {"aligned", "align", "align*", "split", "gather", "gather*", "gathered", "equation"}
ALIGNED |= {"equation*", "eqnarray", "eqnarray*", "multline", "multline*"}
