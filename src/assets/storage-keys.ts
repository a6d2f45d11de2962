// Keys name objects. This file builds and checks the keys of assets and of their bytes.
import { createHash } from 'node:crypto'
import { sha256 } from '../shared/hashes.ts'

const LONGEST_KEY = 1_024
/** Bytes of UTF-8 in one segment, as common file systems allow for a name. */
const LONGEST_SEGMENT = 255

/**
 * Whether a text is a valid key: segments between single slashes, none of them empty, `.` or `..`, without backslashes and control
 * characters. A key has at most 1,024 characters, and a segment 255 bytes.
 */
export function isObjectKey(key: string): boolean {
  if (key.length > LONGEST_KEY || !key.isWellFormed() || /[\p{Cc}\\]/u.test(key)) return false
  return key.split('/').every(isKeySegment)
}

function isKeySegment(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && Buffer.byteLength(segment) <= LONGEST_SEGMENT
}

/** Compares keys by their bytes in UTF-8. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Returns the key under which an asset is served. It needs no escaping in a URL. */
export function assetStorageKey(user_id: string, asset_id: string, extension: string): string {
  return `${encodeKeySegment(user_id)}/${asset_id}.${extension}`
}

const TEMPORARY_PREFIX = 'temp/'

/** Returns the key under which a temporary file is served. */
export function temporaryStorageKey(user_id: string, id: string, extension: string): string {
  return `${TEMPORARY_PREFIX}${assetStorageKey(user_id, id, extension)}`
}

/** Whether a key has the form of a temporary file's key, whether the file exists or not. No user's own keys begin like that. */
export function isTemporaryKey(storage_key: string): boolean {
  return storage_key.startsWith(TEMPORARY_PREFIX)
}

/** Returns the URL path of a key, with reserved characters escaped. */
export function storageUri(storage_key: string): string {
  return `/api/storage/${storage_key.split('/').map(escapeSegment).join('/')}`
}

function escapeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

/**
 * The use of a key: a caller may keep an object (`kept`) or a temporary object under it; or the service gives it to an asset or a temporary
 * upload.
 */
export type KeyUse = 'kept' | 'temporary' | 'asset' | 'upload'

/** Returns the use of a key for a user; null if the key belongs to another user or to none. */
export function resolveKeyUse(user_id: string, storage_key: string): KeyUse | null {
  const temporary = isTemporaryKey(storage_key)
  const [owner, ...rest] = storage_key.slice(temporary ? TEMPORARY_PREFIX.length : 0).split('/')
  if (owner !== encodeKeySegment(user_id) || rest.length === 0) return null
  if (temporary) return isTemporaryUploadKey(storage_key) ? 'upload' : 'temporary'
  return rest.length === 1 && rest[0]!.startsWith(ASSET_ID_PREFIX) ? 'asset' : 'kept'
}

/** Ids of assets begin like this. */
const ASSET_ID_PREFIX = 'asset_'

/** Whether a key has the form of those that the temporary store gives. */
export function isTemporaryUploadKey(storage_key: string): boolean {
  return /^temp\/[^/]+\/[0-9a-f]{48}\.[a-z0-9]+$/.test(storage_key)
}

/** Characters of an encoded user id. A longer one is replaced by its digest. */
const LONGEST_OWNER = 128

/**
 * Encodes an opaque id as a segment. Letters, digits, `-` and `_` stay; each other byte of its UTF-8 becomes `~` and two hexadecimal
 * digits; a long id becomes `~~` and its SHA-256. No two ids have the same segment, and none is `temp` or a dot segment.
 */
export function encodeKeySegment(id: string): string {
  if (id === 'temp') return '~74emp'
  const encoded = id.replace(/[^A-Za-z0-9_-]+/g, (part) =>
    Array.from(Buffer.from(part), (byte) => `~${byte.toString(16).padStart(2, '0')}`).join(''),
  )
  return encoded.length <= LONGEST_OWNER ? encoded : `~~${sha256(id)}`
}

/**
 * Returns the key under which bytes are stored: the same for equal bytes of one user, and for no others. Its first two segments spread the
 * files over 65,536 folders.
 */
export function contentKey(user_id: string, content_sha256: string): string {
  const name = sha256(`${user_id}\0${content_sha256}`)
  return `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`
}

export function sha256OfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
