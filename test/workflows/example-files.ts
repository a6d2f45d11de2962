// Replaces files in the outputs of examples by their facts, as the files of the examples have them, because the location differs for each
// run.
import { createHash } from 'node:crypto'
import sharp from 'sharp'

/** Pictures are compared by their pixels, because two programs may encode the same pixels differently. */
const PICTURES = /^image\/(?:png|jpeg|webp)$/

/** A file in an output: with its bytes in base64 in the terminal, with its URL on a server. */
interface FileValue extends Record<string, unknown> {
  readonly content_type: string
  readonly data?: string
  readonly uri?: string
}

function isFile(value: object): value is FileValue {
  const { content_type, data, uri } = value as Partial<FileValue>
  return typeof content_type === 'string' && (typeof data === 'string' || typeof uri === 'string')
}

/**
 * Returns the outputs with each file as its facts and a digest: `pixels` for pictures, `sha256` and `size` for other files. `read` returns
 * the bytes at a URL.
 */
export async function withoutPlaces(value: unknown, read: (uri: string) => Promise<Buffer>): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Promise.all(value.map((one) => withoutPlaces(one, read)))
  if (isFile(value)) return factsOf(value, read)
  const members = Object.entries(value).map(async ([name, one]) => [name, await withoutPlaces(one, read)])
  return Object.fromEntries(await Promise.all(members))
}

async function factsOf(file: FileValue, read: (uri: string) => Promise<Buffer>): Promise<object> {
  const { data, uri, asset_id: _id, size: _size, sha256: told = null, ...facts } = file
  const bytes = data === undefined ? await read(uri!) : Buffer.from(data, 'base64')
  const found = digest(bytes)
  if (told !== null && told !== found) throw new Error(`${uri} has other bytes than its reference says`)
  if (!PICTURES.test(file.content_type)) return { ...facts, size: bytes.length, sha256: found }
  return { ...facts, pixels: digest(await sharp(bytes).ensureAlpha().raw().toBuffer()) }
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
