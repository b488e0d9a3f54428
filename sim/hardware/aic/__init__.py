"""Step times from the kernel tables of NVIDIA's AIConfigurator (`aiconfigurator-core`, extra `[aic]`)."""
