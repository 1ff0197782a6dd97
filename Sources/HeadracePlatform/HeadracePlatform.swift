// The modules that differ between platforms, under one name: the C library, and Foundation as far as the package uses it.
//
// The other targets import this one, so that none of their files chooses a module. It exports to them alone: who imports Headrace
// gets none of it, as its `import` of this module is not exported.

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif

#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#else
@_exported public import Darwin
#endif
