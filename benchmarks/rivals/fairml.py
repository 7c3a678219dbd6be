"""R fairml 0.8: recorded times, in CPU seconds of one core; R itself is not run."""

from __future__ import annotations

# One fit at r = 0.05, the median of five.
FRRM = {
    "communities.and.crime": 0.691,
    "compas": 0.504,
    "national.longitudinal.survey": 0.871,
    "law.school.admissions": 1.277,
    "german.credit": 0.266,
}
NCLM = {
    "communities.and.crime": 0.567,
    "compas": 0.143,
    "national.longitudinal.survey": 1.303,
    "law.school.admissions": 0.390,
    "german.credit": 0.141,
}
FGRRM_ADULT, FGRRM_COMPAS = 36.7, 1.34
PATH_COMMUNITIES, PATH_COMPAS = 23.5, 12.3  # 51 bounds: FRRM, FGRRM
INDIVIDUAL_COMPAS = 185.7
# One run of ten folds at r = 0.05, FRRM.
TEN_FOLDS = {
    "communities.and.crime": 6.79,
    "compas": 4.09,
    "national.longitudinal.survey": 7.05,
    "law.school.admissions": 11.02,
    "german.credit": 1.98,
}
