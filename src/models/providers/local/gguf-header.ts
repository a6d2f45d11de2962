// Reads the header of a GGUF file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. A file with the right magic counts as GGUF, and facts
// that the header lacks are unknown.
import { type FileHandle, open } from 'node:fs/promises'

export interface GgufHeader {
  /** Such as `llama`, or `clip` for a companion of another file; null where it could not be read. */
  readonly architecture: string | null
  readonly context_length: number | null
  /** Whether the model makes vectors instead of text. */
  readonly embedding: boolean
}

/** The file does not begin as a GGUF file. */
export class NotGgufError extends Error {}

/** The rest of the header is not readable, or exceeds a limit. */
class UnreadableHeaderError extends Error {}

const MAGIC = 'GGUF'
const VERSIONS = [2, 3]
/** Bytes of one read, and of all reads. Skipped bytes are not read. */
const READ_BYTES = 65_536
const MAX_BYTES = 32 * 1024 * 1024
const MAX_STRING_BYTES = 1024 * 1024
const MAX_VALUES = 100_000
const MAX_NESTED = 8
/** The vocabulary is long and not needed. Reading goes past it only while the context length is missing. */
const VOCABULARY_PREFIX = 'tokenizer.'
const ARCHITECTURE_KEY = 'general.architecture'

/** Architectures that make vectors, also where the file has no pooling type. */
const EMBEDDING_ARCHITECTURE = /(^|[-_])(bert|t5encoder)$/

const SIZES_BY_TYPE: Readonly<Record<number, number>> = {
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
const STRING_TYPE = 8
const ARRAY_TYPE = 9

type GgufValue = string | number | null

/** @throws NotGgufError; what the system throws */
export async function readGgufHeader(path: string): Promise<GgufHeader> {
  const file = await open(path, 'r')
  try {
    const values = new Map<string, GgufValue>()
    await readValues(values, new GgufReader(file))
    return createHeader(values)
  } finally {
    await file.close()
  }
}

function createHeader(values: ReadonlyMap<string, GgufValue>): GgufHeader {
  const architecture = values.get(ARCHITECTURE_KEY)
  if (typeof architecture !== 'string') return { architecture: null, context_length: null, embedding: false }
  const length = values.get(`${architecture}.context_length`)
  const pooling = values.get(`${architecture}.pooling_type`)
  return {
    architecture,
    context_length: typeof length === 'number' && length > 0 ? length : null,
    embedding: EMBEDDING_ARCHITECTURE.test(architecture) || (typeof pooling === 'number' && pooling > 0),
  }
}

/** Keeps the values before an unreadable one. @throws NotGgufError; what the system throws */
async function readValues(values: Map<string, GgufValue>, bytes: GgufReader): Promise<void> {
  const magic = await bytes.take(MAGIC.length).catch(ignoreUnreadable)
  if (magic?.toString('latin1') !== MAGIC) throw new NotGgufError()
  try {
    if (!VERSIONS.includes(await bytes.uint32())) return
    await bytes.uint64()
    const count = Math.min(await bytes.uint64(), MAX_VALUES)
    for (let at = 0; at < count; at++) {
      const key = await bytes.string()
      if (key.startsWith(VOCABULARY_PREFIX)) {
        if (values.has(`${values.get(ARCHITECTURE_KEY)}.context_length`)) return
        await bytes.skip(await bytes.uint32())
      } else values.set(key, await bytes.value(await bytes.uint32()))
    }
  } catch (error) {
    ignoreUnreadable(error)
  }
}

function ignoreUnreadable(error: unknown): null {
  if (error instanceof UnreadableHeaderError) return null
  throw error
}

/** Reads a file from its beginning, in order. */
class GgufReader {
  readonly #file: FileHandle
  #buffer = Buffer.alloc(0)
  #offset = 0
  /** The offset in the file of the first byte after the buffer. */
  #fileOffset = 0
  #bytesRead = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  async take(length: number): Promise<Buffer> {
    while (this.#available < length) await this.#readMore(length)
    this.#offset += length
    return this.#buffer.subarray(this.#offset - length, this.#offset)
  }

  async uint32(): Promise<number> {
    return (await this.take(4)).readUInt32LE()
  }

  async uint64(): Promise<number> {
    return this.#toSafeInteger((await this.take(8)).readBigUInt64LE())
  }

  async string(): Promise<string> {
    const length = await this.uint64()
    if (length > MAX_STRING_BYTES) throw new UnreadableHeaderError()
    return (await this.take(length)).toString('utf8')
  }

  /** A string or an unsigned integer; null for other types, which are not needed. */
  async value(type: number): Promise<GgufValue> {
    if (type === STRING_TYPE) return this.string()
    if (type === 4 || type === 5) return this.uint32()
    if (type === 10) return this.uint64()
    await this.skip(type)
    return null
  }

  async skip(type: number, depth = 0): Promise<void> {
    const size = SIZES_BY_TYPE[type]
    if (size !== undefined) return this.#skipBytes(size)
    if (type === STRING_TYPE) return this.#skipBytes(await this.uint64())
    if (type !== ARRAY_TYPE || depth > MAX_NESTED) throw new UnreadableHeaderError()
    const [of, count] = [await this.uint32(), await this.uint64()]
    const each = SIZES_BY_TYPE[of]
    if (each !== undefined) return this.#skipBytes(each * count)
    if (of === STRING_TYPE) return this.#skipStrings(count)
    for (let at = 0; at < count; at++) await this.skip(of, depth + 1)
  }

  /** Awaits only file reads, since there are hundreds of thousands of strings. */
  async #skipStrings(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      if (this.#available < 8) await this.#readMore(8)
      const length = this.#toSafeInteger(this.#buffer.readBigUInt64LE(this.#offset))
      this.#offset += 8
      if (length <= this.#available) this.#offset += length
      else this.#skipBytes(length)
    }
  }

  get #available(): number {
    return this.#buffer.length - this.#offset
  }

  #toSafeInteger(value: bigint): number {
    if (value > Number.MAX_SAFE_INTEGER) throw new UnreadableHeaderError()
    return Number(value)
  }

  #skipBytes(length: number): void {
    const beyond = length - this.#available
    if (beyond <= 0) this.#offset += length
    else {
      this.#fileOffset += beyond
      this.#buffer = this.#buffer.subarray(0, 0)
      this.#offset = 0
    }
    if (!Number.isSafeInteger(this.#fileOffset)) throw new UnreadableHeaderError()
  }

  async #readMore(length: number): Promise<void> {
    const piece = Buffer.alloc(Math.max(READ_BYTES, length))
    const { bytesRead } = await this.#file.read(piece, 0, piece.length, this.#fileOffset)
    this.#bytesRead += bytesRead
    if (bytesRead === 0 || this.#bytesRead > MAX_BYTES) throw new UnreadableHeaderError()
    this.#fileOffset += bytesRead
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#offset), piece.subarray(0, bytesRead)])
    this.#offset = 0
  }
}
