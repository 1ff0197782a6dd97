// The library is preloaded, so that nothing of it is called by name. The package manager wants a header all the same.
