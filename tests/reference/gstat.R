# Reference numbers for kriging: writes gstat.json beside this file, from reml_table.csv.
#
#   apt-get install r-base-core r-cran-gstat r-cran-jsonlite
#   cd tests/reference && Rscript gstat.R
#
# Variograms are given, not fitted.  A nugget is counted in gstat's variances, which are those of a
# new measurement; the same variance as "Err", of measurements, is not.

library(gstat)
library(jsonlite)

table <- read.csv("reml_table.csv")
places <- data.frame(x = c(0.5, 2.2, 4.1, 5.7, 7.3, 9.4, 11.5), z = c(9.1, 3.3, 6.2, 0.4, 8.8, 5.0, 12.5))
found <- list(places = places)

add <- function(name, formula, model, range, nugget, noise, ...) {
  variogram <- vgm(1.3, model, range, ...)
  variogram <- vgm(nugget, noise, 0, add.to = variogram)
  p <- krige(formula, ~ x + z, table, places, variogram, debug.level = 0)
  found[[name]] <<- list(
    sill = 1.3, range = range, nugget = nugget, noise = noise,
    prediction = p$var1.pred, variance = p$var1.var
  )
}

add("exponential", field ~ 1, "Exp", 1.7, 0.2, "Err")
add("exponential, new measurements", field ~ 1, "Exp", 1.7, 0.2, "Nug")
add("exponential, trend", field ~ x, "Exp", 1.7, 0.2, "Err")
add("exponential, two directions", field ~ x, "Exp", 3.0, 0.2, "Err", anis = c(90, 0.4))
add("Gaussian, plane", field ~ x + z, "Gau", 2.1, 0.3, "Err")
add("Matern 3/2, trend", field ~ x, "Mat", 0.9, 0.25, "Err", kappa = 1.5)
add("Matern 5/2, square", field ~ x + I(x^2), "Mat", 0.6, 0.25, "Err", kappa = 2.5)
add("Matern 0.8", field ~ 1, "Mat", 1.2, 0.25, "Err", kappa = 0.8)

found$versions <- list(R = R.version.string, gstat = as.character(packageVersion("gstat")))
write(toJSON(found, digits = 12, auto_unbox = TRUE, pretty = TRUE), "gstat.json")
