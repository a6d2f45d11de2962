// What the header of a GGUF file says of its model, as far as it can be read: a file that begins as one is one, and what it does not say in the
// usual place is only not known. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
import { type FileHandle, open } from 'node:fs/promises'

export interface GgufHeader {
  /** Such as `llama`, or `clip` for what only goes with another file; null where that could not be read. */
  readonly architecture: string | null
  readonly context_length: number | null
  /** Whether it makes one vector of a text, and does not go on with it. */
  readonly embedding: boolean
}

/** The file does not begin as a GGUF file. */
export class NoGguf extends Error {}

/** From here on the header is not read as somebody else may have written it. */
class Unreadable extends Error {}

const MAGIC = 'GGUF'
const VERSIONS = [2, 3]
/** So much of a file is read at once, and at most; what is passed over is not read. */
const PIECE = 65_536
const MOST_BYTES = 32 * 1024 * 1024
const LONGEST_TEXT = 1024 * 1024
const MOST_VALUES = 100_000
const MOST_NESTED = 8
/** Long, and of no interest here: behind it is looked only for what has not come before it. */
const VOCABULARY = 'tokenizer.'
const ARCHITECTURE = 'general.architecture'

/** Architectures that make vectors, also where their files do not say how. */
const EMBEDDING = /(^|[-_])(bert|t5encoder)$/

const SIZES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
}
const STRING = 8
const ARRAY = 9

type Value = string | number | null

/** @throws NoGguf; what the system throws */
export async function readGguf(path: string): Promise<GgufHeader> {
  const file = await open(path, 'r')
  try {
    const values = new Map<string, Value>()
    await readInto(values, new Bytes(file))
    return headerOf(values)
  } finally {
    await file.close()
  }
}

function headerOf(values: ReadonlyMap<string, Value>): GgufHeader {
  const architecture = values.get(ARCHITECTURE)
  if (typeof architecture !== 'string') return { architecture: null, context_length: null, embedding: false }
  const length = values.get(`${architecture}.context_length`)
  const pooling = values.get(`${architecture}.pooling_type`)
  return {
    architecture,
    context_length: typeof length === 'number' && length > 0 ? length : null,
    embedding: EMBEDDING.test(architecture) || (typeof pooling === 'number' && pooling > 0),
  }
}

/** Keeps what was read before something could not be read. @throws NoGguf; what the system throws */
async function readInto(values: Map<string, Value>, bytes: Bytes): Promise<void> {
  const magic = await bytes.take(MAGIC.length).catch(nothingWhereUnreadable)
  if (magic?.toString('latin1') !== MAGIC) throw new NoGguf()
  try {
    if (!VERSIONS.includes(await bytes.uint32())) return
    await bytes.uint64()
    const count = Math.min(await bytes.uint64(), MOST_VALUES)
    for (let at = 0; at < count; at++) {
      const key = await bytes.string()
      if (key.startsWith(VOCABULARY)) {
        if (values.has(`${values.get(ARCHITECTURE)}.context_length`)) return
        await bytes.skip(await bytes.uint32())
      } else values.set(key, await bytes.value(await bytes.uint32()))
    }
  } catch (error) {
    nothingWhereUnreadable(error)
  }
}

function nothingWhereUnreadable(error: unknown): null {
  if (error instanceof Unreadable) return null
  throw error
}

/** The beginning of a file, in turn. */
class Bytes {
  readonly #file: FileHandle
  #buffer = Buffer.alloc(0)
  #at = 0
  /** Where what follows the buffer stands in the file. */
  #next = 0
  #read = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  async take(length: number): Promise<Buffer> {
    while (this.#left < length) await this.#more(length)
    this.#at += length
    return this.#buffer.subarray(this.#at - length, this.#at)
  }

  async uint32(): Promise<number> {
    return (await this.take(4)).readUInt32LE()
  }

  async uint64(): Promise<number> {
    return this.#whole((await this.take(8)).readBigUInt64LE())
  }

  async string(): Promise<string> {
    const length = await this.uint64()
    if (length > LONGEST_TEXT) throw new Unreadable()
    return (await this.take(length)).toString('utf8')
  }

  /** A text or a whole number; null for what nobody asks for. */
  async value(type: number): Promise<Value> {
    if (type === STRING) return this.string()
    if (type === 4 || type === 5) return this.uint32()
    if (type === 10) return this.uint64()
    await this.skip(type)
    return null
  }

  async skip(type: number, depth = 0): Promise<void> {
    const size = SIZES[type]
    if (size !== undefined) return this.#pass(size)
    if (type === STRING) return this.#pass(await this.uint64())
    if (type !== ARRAY || depth > MOST_NESTED) throw new Unreadable()
    const [of, count] = [await this.uint32(), await this.uint64()]
    const each = SIZES[of]
    if (each !== undefined) return this.#pass(each * count)
    if (of === STRING) return this.#skipTexts(count)
    for (let at = 0; at < count; at++) await this.skip(of, depth + 1)
  }

  /** There are hundreds of thousands of them: waits for nothing but the file. */
  async #skipTexts(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      if (this.#left < 8) await this.#more(8)
      const length = this.#whole(this.#buffer.readBigUInt64LE(this.#at))
      this.#at += 8
      if (length <= this.#left) this.#at += length
      else this.#pass(length)
    }
  }

  get #left(): number {
    return this.#buffer.length - this.#at
  }

  #whole(value: bigint): number {
    if (value > Number.MAX_SAFE_INTEGER) throw new Unreadable()
    return Number(value)
  }

  #pass(length: number): void {
    const beyond = length - this.#left
    if (beyond <= 0) this.#at += length
    else {
      this.#next += beyond
      this.#buffer = this.#buffer.subarray(0, 0)
      this.#at = 0
    }
    if (!Number.isSafeInteger(this.#next)) throw new Unreadable()
  }

  async #more(length: number): Promise<void> {
    const piece = Buffer.alloc(Math.max(PIECE, length))
    const { bytesRead } = await this.#file.read(piece, 0, piece.length, this.#next)
    this.#read += bytesRead
    if (bytesRead === 0 || this.#read > MOST_BYTES) throw new Unreadable()
    this.#next += bytesRead
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#at), piece.subarray(0, bytesRead)])
    this.#at = 0
  }
}
