// The trailer at the end of the object of a temporary file: a JSON record, and the length of the record in eight digits.

/** A file of the temporary store and its owner. */
export interface TemporaryFile {
  readonly storage_key: string
  readonly user_id: string
  readonly workspace_id: string | null
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  readonly created_at: string
  /** Reads do not find the file after this time. */
  readonly expires_at: string
}

const LENGTH_DIGITS = 8
/** Bytes. The longest ids, of 512 characters each, and the longest name need less. */
export const LONGEST_TRAILER = 16_384

export function formatTrailer(file: TemporaryFile): Uint8Array {
  const record = Buffer.from(JSON.stringify(file))
  return Buffer.concat([record, Buffer.from(String(record.length).padStart(LENGTH_DIGITS, '0'))])
}

/** Reads the record at the end of `bytes`, which are the last bytes of the object `key`. */
export function parseTrailer(bytes: Buffer, key: string): TemporaryFile {
  const length = Number(bytes.toString('latin1', bytes.length - LENGTH_DIGITS))
  const end = bytes.length - LENGTH_DIGITS
  if (!Number.isInteger(length) || length <= 0 || length > end)
    throw new Error(`the temporary object ${key} has no record`)
  return JSON.parse(bytes.toString('utf8', end - length, end)) as TemporaryFile
}
