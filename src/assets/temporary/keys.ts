// Keys of the objects of temporary files. The objects of one user form one range of keys, so that they can be listed together.
import { isUnavailableError } from '../../errors.ts'
import { sha256 } from '../../shared/hashes.ts'
import { encodeKeySegment } from '../storage-keys.ts'
import type { ObjectInfo, ObjectStore } from '../stores/object-store.ts'
import type { QuotaEntry } from './quota.ts'

/** How long a file is kept after its upload. */
export const TEMPORARY_HOURS = 24
export const TEMPORARY_MS = TEMPORARY_HOURS * 3_600_000

/** Returns the object key for an id of 48 hexadecimal characters: the user's folder, one of sixteen subfolders, and the id. */
export function temporaryObjectKey(user_id: string, id: string): string {
  return objectKeyIn(encodeKeySegment(user_id), id)
}

/**
 * Returns the object key for a storage key, or null if that is no key of a temporary file. The record of the object says whether the
 * storage key is really its own.
 */
export function parseTemporaryKey(storage_key: string): string | null {
  const parts = /^temp\/([^/]+)\/([0-9a-f]{48})\.[a-z0-9]+$/.exec(storage_key)
  return parts && objectKeyIn(parts[1]!, parts[2]!)
}

/** Returns the common prefix of the keys of all temporary files of a user, of uploads and of objects. */
export function temporaryKeyPrefix(user_id: string): string {
  return `temp/${encodeKeySegment(user_id)}/`
}

function objectKeyIn(segment: string, id: string): string {
  return `${userFolder(segment)}/${id[0]}/${id}`
}

/** Returns a folder name of fixed length that differs for each user, even on a file system that ignores case. */
function userFolder(segment: string): string {
  return sha256(segment).slice(0, 32)
}

/** Number of keys in one list, and of objects that are examined at once. */
const KEYS_PER_LIST = 1_000
const STATS_AT_ONCE = 16

/**
 * Yields the temporary files of a user, expired or not. If the bucket cannot be used, it yields those on this machine, and then throws.
 * @throws SERVICE_UNAVAILABLE
 */
export async function* listTemporaryFiles(objects: ObjectStore, user_id: string): AsyncGenerator<QuotaEntry> {
  const folder = userFolder(encodeKeySegment(user_id))
  let after = folder
  try {
    for await (const keys of listKeys(folder, after, objects.list.bind(objects))) {
      yield* await toQuotaEntries(keys, (key) => objects.stat(key))
      after = keys.at(-1)!
    }
  } catch (error) {
    if (!isUnavailableError(error)) throw error
    for await (const keys of listKeys(folder, after, objects.listLocal.bind(objects)))
      yield* await toQuotaEntries(keys, (key) => nullIfUnavailable(objects.stat(key)))
    throw error
  }
}

/** Yields the keys of a folder after a given key, a few at a time. */
async function* listKeys(folder: string, behind: string, list: ObjectStore['list']): AsyncGenerator<string[]> {
  for (let after = behind; ; ) {
    const listed = await list(after, KEYS_PER_LIST)
    const keys = listed.filter((key) => key.startsWith(`${folder}/`))
    for (let from = 0; from < keys.length; from += STATS_AT_ONCE) yield keys.slice(from, from + STATS_AT_ONCE)
    if (keys.length < KEYS_PER_LIST) return
    after = keys.at(-1)!
  }
}

async function toQuotaEntries(keys: readonly string[], stat: ObjectStore['stat']): Promise<QuotaEntry[]> {
  const found = await Promise.all(keys.map(async (key) => [key, await stat(key)] as const))
  return found.flatMap(([key, facts]) =>
    facts ? [{ key, bytes: facts.size, expires_at: facts.put_at + TEMPORARY_MS }] : [],
  )
}

/** Returns null for an object that was moved to the bucket meanwhile. */
async function nullIfUnavailable(asked: Promise<ObjectInfo | null>): Promise<ObjectInfo | null> {
  try {
    return await asked
  } catch (error) {
    if (isUnavailableError(error)) return null
    throw error
  }
}
