// Keys: what names an object, and how the keys of assets and of their bytes are made.
import { createHash } from 'node:crypto'
import { sha256 } from '../shared/hashes.ts'

const LONGEST_KEY = 1_024
/** Bytes of UTF-8 in one segment: what common file systems take as a name. */
const LONGEST_SEGMENT = 255

/**
 * Whether a text may name an object: segments between single slashes, none of them empty, `.` or `..`, without backslashes and
 * control characters, at most 1,024 characters and 255 bytes a segment.
 */
export function isObjectKey(key: string): boolean {
  if (key.length > LONGEST_KEY || !key.isWellFormed() || /[\p{Cc}\\]/u.test(key)) return false
  return key.split('/').every(isKeySegment)
}

function isKeySegment(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && Buffer.byteLength(segment) <= LONGEST_SEGMENT
}

/** The order of keys: that of their bytes in UTF-8. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The key under which an asset is served. It needs no escaping in a URL. */
export function assetStorageKey(user_id: string, asset_id: string, extension: string): string {
  return `${encodeKeySegment(user_id)}/${asset_id}.${extension}`
}

const TEMPORARY_PREFIX = 'temp/'

/** The key under which a temporary file is served. */
export function temporaryStorageKey(user_id: string, id: string, extension: string): string {
  return `${TEMPORARY_PREFIX}${assetStorageKey(user_id, id, extension)}`
}

/** Whether a key is that of a temporary file, whether there is one or not. No user's own keys begin like that. */
export function isTemporaryKey(storage_key: string): boolean {
  return storage_key.startsWith(TEMPORARY_PREFIX)
}

/** Where a key is served: as it stands, but for what has to be escaped in a URL. */
export function storageUri(storage_key: string): string {
  return `/api/storage/${storage_key.split('/').map(escapeSegment).join('/')}`
}

function escapeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** What a key is good for: to keep an object under, or a temporary one; or the service gives it itself, to an asset or to a temporary upload. */
export type KeyUse = 'kept' | 'temporary' | 'asset' | 'upload'

/** What a user may do with a key; null where it is nobody's, or somebody else's. */
export function resolveKeyUse(user_id: string, storage_key: string): KeyUse | null {
  const temporary = isTemporaryKey(storage_key)
  const [owner, ...rest] = storage_key.slice(temporary ? TEMPORARY_PREFIX.length : 0).split('/')
  if (owner !== encodeKeySegment(user_id) || rest.length === 0) return null
  if (temporary) return isTemporaryUploadKey(storage_key) ? 'upload' : 'temporary'
  return rest.length === 1 && rest[0]!.startsWith(ASSET_ID_PREFIX) ? 'asset' : 'kept'
}

/** How ids of assets begin. */
const ASSET_ID_PREFIX = 'asset_'

/** Whether a key is of those that the temporary store gives. */
export function isTemporaryUploadKey(storage_key: string): boolean {
  return /^temp\/[^/]+\/[0-9a-f]{48}\.[a-z0-9]+$/.test(storage_key)
}

/** An encoded user id that is longer is replaced by its digest. */
const LONGEST_OWNER = 128

/**
 * An opaque id as a segment: letters, digits, `-` and `_` stand for themselves, each other byte of its UTF-8 is `~` and two
 * hexadecimal digits, and a long id is `~~` and its SHA-256. Two ids never have one segment, and none is `temp` or a dot segment.
 */
export function encodeKeySegment(id: string): string {
  if (id === 'temp') return '~74emp'
  const encoded = id.replace(/[^A-Za-z0-9_-]+/g, (part) =>
    Array.from(Buffer.from(part), (byte) => `~${byte.toString(16).padStart(2, '0')}`).join(''),
  )
  return encoded.length <= LONGEST_OWNER ? encoded : `~~${sha256(id)}`
}

/**
 * The key under which bytes are kept: the same for equal bytes of one user, and for no others. Its first two segments spread
 * the files over 65,536 folders.
 */
export function contentKey(user_id: string, content_sha256: string): string {
  const name = sha256(`${user_id}\0${content_sha256}`)
  return `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`
}

export function sha256OfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
