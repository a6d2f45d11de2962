// A value as bytes, without a copy of the bytes in it: V8's structured clone of everything else, and behind it the bytes as they are.
import { DefaultSerializer, Deserializer } from 'node:v8'

const VIEWS = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigUint64Array,
  BigInt64Array,
] as const
/** What stands for other views. */
const DATA_VIEW = VIEWS.length
const BUFFER = VIEWS.length + 1
/** Bytes of the number in front that says how long the clone is. */
const LENGTH = 8

class Taking extends DefaultSerializer {
  readonly parts: Uint8Array[] = []

  _writeHostObject(view: ArrayBufferView): void {
    this.writeUint32(kindOf(view))
    this.writeDouble(view.byteLength)
    this.parts.push(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
  }
}

function kindOf(view: ArrayBufferView): number {
  if (Buffer.isBuffer(view)) return BUFFER
  const kind = VIEWS.findIndex((View) => view instanceof View)
  return kind < 0 ? DATA_VIEW : kind
}

class Giving extends Deserializer {
  readonly #bytes: Buffer
  #at = 0

  constructor(clone: Buffer, bytes: Buffer) {
    super(clone)
    this.#bytes = bytes
  }

  _readHostObject(): ArrayBufferView {
    const kind = this.readUint32()
    const length = this.readDouble()
    const part = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    if (part.length !== length) throw new Error('bytes of a value are missing')
    return viewOf(kind, part)
  }
}

function viewOf(kind: number, part: Buffer): ArrayBufferView {
  if (kind === BUFFER) return part
  if (kind === 0) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
  // Others may not begin anywhere.
  const { buffer } = Uint8Array.from(part)
  if (kind === DATA_VIEW) return new DataView(buffer)
  return new VIEWS[kind]!(buffer)
}

/** The parts of which `valueFrom` makes the value again. They hold its own bytes, which must not change meanwhile. */
export function partsOf(value: unknown): Uint8Array[] {
  const taking = new Taking()
  taking.writeHeader()
  taking.writeValue(value)
  const clone = taking.releaseBuffer()
  const length = Buffer.alloc(LENGTH)
  length.writeBigUInt64LE(BigInt(clone.length))
  return [length, clone, ...taking.parts]
}

/** The value, whose bytes are those of `whole`. @throws Error for what no `partsOf` gave */
export function valueFrom(whole: Buffer): unknown {
  const behind = LENGTH + Number(whole.readBigUInt64LE())
  const giving = new Giving(whole.subarray(LENGTH, behind), whole.subarray(behind))
  giving.readHeader()
  return giving.readValue()
}
