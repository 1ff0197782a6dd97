// The library is only preloaded and declares no function, but the package manager requires a header.
