# Reference numbers for restricted likelihood: writes reml_*.csv and reml.json beside this file.
#
#   apt-get install r-base-core r-cran-nlme r-cran-mgcv r-cran-jsonlite
#   cd tests/reference && Rscript reml.R
#
# nlme: correlation (1 - nugget) * rho(d / range); its restricted log-likelihood lacks the term
# log|X'X| / 2, which the test adds.  mgcv: thin plates with as many functions as samples, so that
# nothing is truncated.

library(nlme)
library(mgcv)
library(jsonlite)

set.seed(20)
m <- 60
table <- data.frame(
  x = round(runif(m, 0, 10), 3),
  z = round(runif(m, 0, 10), 3),
  g = sample(0:5, m, TRUE),
  h = sample(0:2, m, TRUE),
  v = round(rnorm(m), 3)
)
table$day <- rep(round(sort(runif(30, 0, 10)), 2), each = 2)
d <- as.matrix(dist(table[, c("x", "z")]))
field <- as.vector(t(chol(exp(-d / 1.2) + diag(1e-9, m))) %*% rnorm(m))
walk <- as.vector(t(chol(exp(-abs(outer(table$x, table$x, "-")) / 1.5) + diag(1e-9, m))) %*% rnorm(m))
effect <- rnorm(6)[table$g + 1]
slope <- rnorm(6)[table$g + 1]
within <- rnorm(18)[3 * table$g + table$h + 1]
noise <- rnorm(m)
table$field <- round(1 + 0.3 * table$x + field + 0.4 * noise, 4)
table$groups <- round(2 - table$v + effect + 0.7 * slope * table$v + 0.8 * within + 0.5 * noise, 4)
table$wave <- round(sin(table$day) + 0.2 * table$z + 0.3 * noise, 4)
table$line <- round(0.5 * table$z + walk + 0.3 * rnorm(m), 4)
write.csv(table, "reml_table.csv", row.names = FALSE)
table$group <- factor(table$g)
table$part <- factor(3 * table$g + table$h)
table$kind <- factor(table$h)

control <- glsControl(opt = "optim", tolerance = 1e-10, maxIter = 500, msMaxIter = 2000)
lme_control <- lmeControl(opt = "optim", tolerance = 1e-10, maxIter = 500, msMaxIter = 2000, niterEM = 200)
found <- list()

add_gls <- function(name, formula, structure, method = "REML") {
  fit <- gls(formula, table, correlation = structure, method = method, control = control)
  p <- coef(fit$modelStruct$corStruct, unconstrained = FALSE)
  found[[name]] <<- list(
    program = "nlme::gls", method = method, range = p[["range"]], nugget = p[["nugget"]],
    variance = fit$sigma^2, log_likelihood = as.numeric(logLik(fit)),
    coef = as.vector(coef(fit)), se = as.vector(sqrt(diag(vcov(fit))))
  )
}
add_lme <- function(name, fixed, random) {
  fit <- lme(fixed, table, random = random, method = "REML", control = lme_control)
  v <- VarCorr(fit)
  values <- suppressWarnings(as.numeric(v[, "Variance"]))
  names(values) <- NULL
  structure <- as.matrix(fit$modelStruct$reStruct)
  ratios <- unname(unlist(lapply(rev(structure), function(part) diag(as.matrix(part)))))
  found[[name]] <<- list(
    program = "nlme::lme", ratios = ratios, noise = fit$sigma^2,
    log_likelihood = as.numeric(logLik(fit)),
    coef = as.vector(fixef(fit)), se = as.vector(sqrt(diag(vcov(fit))))
  )
}
add_gam <- function(name, formula) {
  precise <- gam.control(epsilon = 1e-13, newton = list(conv.tol = 1e-12))
  fit <- gam(formula, data = table, method = "REML", control = precise)
  stiff <- gam(formula, data = table, method = "REML", control = precise, sp = 10 * fit$sp)
  p <- predict(fit, se.fit = TRUE)
  linear <- seq_len(fit$nsdf)  # the intercept, of a smooth with mean zero, and what is no smooth
  found[[name]] <<- list(
    program = "mgcv::gam", edf = sum(fit$edf), scale = fit$sig2, reml = as.numeric(fit$gcv.ubre),
    reml_at_tenfold_penalty = as.numeric(stiff$gcv.ubre), edf_at_tenfold_penalty = sum(stiff$edf),
    coef = as.vector(coef(fit)[linear]), coef_se = as.vector(sqrt(diag(vcov(fit))[linear])),
    fitted = as.vector(p$fit), se = as.vector(p$se.fit)
  )
}

space <- ~ x + z
add_gls("exponential", field ~ 1, corExp(c(3, 0.2), space, nugget = TRUE))
add_gls("exponential, trend", field ~ x, corExp(c(3, 0.2), space, nugget = TRUE))
add_gls("exponential, plane", field ~ x + z, corExp(c(3, 0.2), space, nugget = TRUE))
add_gls("exponential, full likelihood", field ~ x, corExp(c(3, 0.2), space, nugget = TRUE), "ML")
add_gls("Gaussian", field ~ x, corGaus(c(3, 0.2), space, nugget = TRUE))
add_gls("rational quadratic", field ~ x, corRatio(c(3, 0.2), space, nugget = TRUE))
add_gls("exponential, one column", line ~ z, corExp(c(1, 0.2), ~ x, nugget = TRUE))
add_lme("group intercepts", groups ~ v, list(group = ~ 1))
add_lme("group intercepts and slopes", groups ~ v, list(group = pdDiag(~ v)))
add_lme("nested groups", groups ~ v, list(group = ~ 1, part = ~ 1))
add_gam("smoothing spline", wave ~ s(day, k = 30, bs = "tp") + z)
add_gam("thin plate", field ~ s(x, z, k = m, bs = "tp"))
add_gam("spline and a factor", wave ~ kind + s(day, k = 30, bs = "tp"))

found$versions <- list(R = R.version.string, nlme = as.character(packageVersion("nlme")),
                       mgcv = as.character(packageVersion("mgcv")))
write(toJSON(found, digits = 12, auto_unbox = TRUE, pretty = TRUE), "reml.json")
