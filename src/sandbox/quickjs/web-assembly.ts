// WebAssembly as far as it is used here. The types of Node describe its values, not the global itself.

interface WebAssemblyGlobal {
  readonly Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
  compile(bytes: Uint8Array): Promise<WebAssembly.Module>
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyGlobal }).WebAssembly
