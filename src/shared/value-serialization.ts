// A value as bytes, without copies of the bytes in it: V8's structured clone of everything else, followed by the bytes as they are. A large value is
// split into segments, each of which is made quickly.
import { DefaultSerializer, Deserializer } from 'node:v8'
import { setOwnProperty } from './own-property.ts'
import { joinBytesSteps, runToCompletion, type Steps } from './time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from './value-size.ts'

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
/** The kind of views that are not in the list. */
const DATA_VIEW = VIEWS.length
const BUFFER = VIEWS.length + 1
/** Bytes of the number in front, which is the length of the clone. */
const LENGTH = 8

class CloneSerializer extends DefaultSerializer {
  readonly parts: Uint8Array[] = []

  _writeHostObject(view: ArrayBufferView): void {
    this.writeUint32(viewKind(view))
    this.writeDouble(view.byteLength)
    this.parts.push(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
  }
}

function viewKind(view: ArrayBufferView): number {
  if (Buffer.isBuffer(view)) return BUFFER
  const kind = VIEWS.findIndex((View) => view instanceof View)
  return kind < 0 ? DATA_VIEW : kind
}

class CloneDeserializer extends Deserializer {
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
    return createView(kind, part)
  }

  /** The number of bytes that were read. */
  get bytesRead(): number {
    return this.#at
  }
}

function createView(kind: number, part: Buffer): ArrayBufferView {
  if (kind === BUFFER) return part
  if (kind === 0) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
  // Typed arrays with larger elements need an aligned offset.
  const { buffer } = Uint8Array.from(part)
  if (kind === DATA_VIEW) return new DataView(buffer)
  return new VIEWS[kind]!(buffer)
}

/** The parts from which `deserializeValue` restores the value, made on demand. They share the value's own bytes, which must not change meanwhile. */
export function* serializeParts(value: unknown): Generator<Uint8Array, void, undefined> {
  if (!isSegmentable(value)) return yield* serializeWhole(value)
  yield numberAsBytes(SEGMENTS)
  yield* serializeSegments(value, new Map())
}

/** All parts in one buffer that nothing else uses. Each step makes one part, or copies one. */
export function* serializeSteps(value: unknown): Steps<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let length = 0
  for (const part of serializeParts(value)) {
    parts.push(part)
    length += part.length
    yield
  }
  return yield* joinBytesSteps(parts, new Uint8Array(length))
}

function numberAsBytes(number: bigint): Buffer {
  const bytes = Buffer.alloc(LENGTH)
  bytes.writeBigUInt64LE(number)
  return bytes
}

function* serializeWhole(value: unknown): Generator<Uint8Array, void, undefined> {
  const taking = new CloneSerializer()
  taking.writeHeader()
  taking.writeValue(value)
  const clone = taking.releaseBuffer()
  yield numberAsBytes(BigInt(clone.length))
  yield clone
  yield* taking.parts
}

/** Stands in the place of the clone's length if the value is in segments. */
const SEGMENTS = 0xffff_ffff_ffff_ffffn

/** Kinds of segments. The members of a list or a record follow it, then `END`. A member follows its key. All other kinds have a value. */
const VALUE = 0
const LIST = 1
const RECORD = 2
const ITEMS = 3
const FIELDS = 4
const KEY = 5
const END = 6
/** A list or a record that was met before, by its number. */
const AGAIN = 7

type Members = Readonly<Record<string | number, unknown>>

function isSegmentable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || isSmallValue(value)) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function* serializeSegments(value: unknown, met: Map<object, number>): Generator<Uint8Array, void, undefined> {
  if (!isSegmentable(value)) return yield* serializeSegment(VALUE, value)
  const before = met.get(value)
  if (before !== undefined) return yield* serializeSegment(AGAIN, before)
  met.set(value, met.size)
  const members = value as Members
  const keys = Array.isArray(value) ? null : Object.keys(value)
  yield Buffer.of(keys ? RECORD : LIST)
  const count = keys ? keys.length : (value as unknown[]).length
  for (const { from, to, isSmall } of splitIntoSmallRanges(count, (at) => members[keys ? keys[at]! : at])) {
    if (!isSmall) {
      if (keys) yield* serializeSegment(KEY, keys[from])
      yield* serializeSegments(members[keys ? keys[from]! : from], met)
    } else if (keys)
      yield* serializeSegment(FIELDS, Object.fromEntries(keys.slice(from, to).map((key) => [key, members[key]])))
    else yield* serializeSegment(ITEMS, (value as unknown[]).slice(from, to))
  }
  yield Buffer.of(END)
}

function* serializeSegment(kind: number, value: unknown): Generator<Uint8Array, void, undefined> {
  const [length, clone, ...bytes] = serializeWhole(value)
  // In one buffer, because each part is sealed and written by itself.
  yield Buffer.concat([Buffer.of(kind), length!, clone!])
  yield* bytes
}

/** The value; its bytes are those of `whole`. @throws Error for bytes that `serializeParts` did not make */
export function deserializeValue(whole: Buffer): unknown {
  return runToCompletion(deserializeValueSteps(whole))
}

/** `deserializeValue` in steps: each reads one segment. */
export function* deserializeValueSteps(whole: Buffer): Steps<unknown> {
  const reading = new SegmentReader(whole)
  if (whole.readBigUInt64LE() !== SEGMENTS) return reading.value()
  reading.skip(LENGTH)
  return yield* reading.node(reading.kind())
}

class SegmentReader {
  readonly #bytes: Buffer
  readonly #met: object[] = []
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(length: number): void {
    this.#at += length
  }

  kind(): number {
    return this.#bytes.readUInt8(this.#at++)
  }

  value(): unknown {
    const from = this.#at + LENGTH
    const behind = from + Number(this.#bytes.readBigUInt64LE(this.#at))
    const giving = new CloneDeserializer(this.#bytes.subarray(from, behind), this.#bytes.subarray(behind))
    giving.readHeader()
    const value: unknown = giving.readValue()
    this.#at = behind + giving.bytesRead
    return value
  }

  /** The node that begins with a segment of this kind. */
  *node(kind: number): Steps<unknown> {
    yield
    if (kind === VALUE) return this.value()
    if (kind === AGAIN) return this.#met[this.value() as number]
    return kind === LIST ? yield* this.#list() : yield* this.#record()
  }

  *#list(): Steps<unknown[]> {
    const list: unknown[] = []
    this.#met.push(list)
    for (let kind = this.kind(); kind !== END; kind = this.kind()) {
      if (kind === ITEMS) {
        for (const item of this.value() as unknown[]) list.push(item)
        yield
      } else list.push(yield* this.node(kind))
    }
    return list
  }

  *#record(): Steps<object> {
    const record = {}
    this.#met.push(record)
    for (let kind = this.kind(); kind !== END; kind = this.kind()) {
      if (kind === FIELDS) {
        for (const [key, value] of Object.entries(this.value() as object)) setOwnProperty(record, key, value)
        yield
      } else setOwnProperty(record, this.value() as string, yield* this.node(this.kind()))
    }
    return record
  }
}
