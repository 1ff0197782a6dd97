// The modules that differ between platforms, under one name: the C library and the part of Foundation that the package uses.
//
// The other targets import this module, so that none of their files chooses one. Clients of Headrace do not get these names,
// since its `import` of this module is not exported.

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
