// The parts of GGUF files (version 3), as bytes: numbers, texts, lists, and the values of a header.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

/** The types of values. */
export const TYPE = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const

/** Returns the head of a file, up to the descriptions of its tensors. */
export function header(tensors: number, values: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(tensors), uint64(values.length), ...values])
}

/** Returns a key with its value. */
export function value(key: string, type: number, bytes: Buffer): Buffer {
  return Buffer.concat([text(key), uint32(type), bytes])
}

/** Returns a value of the type `array`. */
export function list(type: number, values: readonly Buffer[]): Buffer {
  return Buffer.concat([uint32(type), uint64(values.length), ...values])
}

export function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint64(bytes.length), bytes])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

export function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}
