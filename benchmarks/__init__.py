"""Problems × libraries, as ratios in one run."""
