// Reads and decompresses the body of an answer, up to a limit.
import { pipeline, Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { joinBytesSteps, runToCompletion } from '../../shared/time-slices.ts'
import { ChunkBuffer } from '../chunk-buffer.ts'
import { outgoingTimeSlices } from '../outgoing-time-slices.ts'

/** The value of Accept-Encoding. */
export const ACCEPTED_ENCODINGS = 'gzip, br'

const DECODER_FACTORIES: Readonly<Record<string, () => Transform>> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
}

/** Bodies up to this size are joined at once, in some 0.1 ms. */
const SHORT_BODY_BYTES = 262_144

/** A body with more layers of compression is taken for an attack. */
const MAX_ENCODING_LAYERS = 2

export function responseTooLargeError(max_bytes: number): NodeError {
  const text = `The answer has more than ${max_bytes.toLocaleString('en')} bytes.`
  return new NodeError(`${text} Request less, or raise max_bytes.`, 'too_large')
}

/**
 * The answer has an unsupported encoding. The encoding's name may hold a secret
 * that was sent to the server, so messages show it only masked.
 */
export class UnknownEncoding extends Error {
  readonly encoding: string

  constructor(encoding: string) {
    super('the answer has an unsupported encoding')
    this.name = 'UnknownEncoding'
    this.encoding = encoding
  }
}

/** Returns the names of the encodings in the order in which they were applied. */
export function parseContentEncodings(header: string): string[] {
  const names = header.split(',').map((name) => name.trim().toLowerCase())
  return names.filter((name) => name !== '' && name !== 'identity')
}

function createDecoders(encodings: readonly string[]): Transform[] {
  if (encodings.length > MAX_ENCODING_LAYERS)
    throw new NodeError('The answer is compressed more than twice.', 'bad_response')
  return encodings.toReversed().map((name) => {
    if (Object.hasOwn(DECODER_FACTORIES, name)) return DECODER_FACTORIES[name]!()
    throw new UnknownEncoding(name)
  })
}

/** Yields the first chunk of a stream and then the rest, so that an empty body is not decoded. */
async function* prependChunk(first: Uint8Array, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value
  } finally {
    await pieces.return?.()
  }
}

/**
 * Reads the whole body. @throws NodeError `too_large` as soon as the decompressed body has more than `max_bytes` The stream is closed in
 * any case. `held` is told how many bytes are in memory until then.
 */
export async function readLimitedBody(
  body: Readable,
  encodings: readonly string[],
  max_bytes: number,
  onBytesHeld: (bytes: number) => void = () => {},
): Promise<Uint8Array> {
  try {
    return await collectBody(await decodeStream(body, createDecoders(encodings)), max_bytes, onBytesHeld)
  } finally {
    body.on('error', () => {})
    body.destroy()
  }
}

async function decodeStream(body: Readable, steps: readonly Transform[]): Promise<Readable> {
  if (steps.length === 0) return body
  const pieces = body.iterator() as AsyncIterator<Uint8Array>
  const first = await pieces.next()
  if (first.done) return Readable.from([])
  // The reader of the last step gets the error of every step.
  const connect = (from: Readable, step: Transform): Readable => pipeline(from, step, () => {})
  return steps.reduce(connect, Readable.from(prependChunk(first.value, pieces)))
}

async function collectBody(
  pieces: AsyncIterable<Uint8Array>,
  max_bytes: number,
  onBytesHeld: (bytes: number) => void,
): Promise<Uint8Array> {
  const kept = new ChunkBuffer()
  let length = 0
  try {
    for await (const piece of pieces) {
      length += piece.length
      onBytesHeld(piece.length)
      if (length > max_bytes) throw responseTooLargeError(max_bytes)
      kept.add(piece)
    }
    const joined = joinBytesSteps(kept.chunks(), Buffer.allocUnsafeSlow(length))
    // Many bodies may end in one turn of the event loop. A long body waits for its slice.
    return length <= SHORT_BODY_BYTES ? runToCompletion(joined) : await outgoingTimeSlices.run('', joined)
  } finally {
    onBytesHeld(-length)
  }
}
