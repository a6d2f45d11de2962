// The parts of WebAssembly used here. Node's types describe its values, but not the global.

interface WebAssemblyGlobal {
  readonly Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
  compile(bytes: Uint8Array): Promise<WebAssembly.Module>
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyGlobal }).WebAssembly
