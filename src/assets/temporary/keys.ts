// Where the objects of temporary files lie in their store: those of a user together, so that what the user keeps is one range of its keys.
import { isUnavailableError } from '../../errors.ts'
import { sha256 } from '../../shared/hashes.ts'
import { encodeKeySegment } from '../storage-keys.ts'
import type { ObjectInfo, ObjectStore } from '../stores/object-store.ts'
import type { QuotaEntry } from './quota.ts'

/** How long a file is kept after it has arrived. */
export const TEMPORARY_HOURS = 24
export const TEMPORARY_MS = TEMPORARY_HOURS * 3_600_000

/** The key of the object of an id of 48 hexadecimal characters: the user's folder, one of sixteen in it, and the id. */
export function temporaryObjectKey(user_id: string, id: string): string {
  return objectKeyIn(encodeKeySegment(user_id), id)
}

/** Where the object of a key lies, or null for what is no key of a temporary file. The record says whether it is the object's own. */
export function parseTemporaryKey(storage_key: string): string | null {
  const parts = /^temp\/([^/]+)\/([0-9a-f]{48})\.[a-z0-9]+$/.exec(storage_key)
  return parts && objectKeyIn(parts[1]!, parts[2]!)
}

/** What the keys of all temporary files of a user begin with, of uploads and of objects. */
export function temporaryKeyPrefix(user_id: string): string {
  return `temp/${encodeKeySegment(user_id)}/`
}

function objectKeyIn(segment: string, id: string): string {
  return `${userFolder(segment)}/${id[0]}/${id}`
}

/** Of one length, and another one for each user whatever a file system thinks of case. */
function userFolder(segment: string): string {
  return sha256(segment).slice(0, 32)
}

/** Keys that are asked for at once, and objects that are looked at so. */
const KEYS_PER_LIST = 1_000
const STATS_AT_ONCE = 16

/**
 * What the store keeps of a user, past its time or not. Where its bucket cannot be used, it goes on with what lies on this machine, and ends with
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

/** Keys in a folder behind one, a few at a time. */
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

/** Null for what has left this machine meanwhile. */
async function nullIfUnavailable(asked: Promise<ObjectInfo | null>): Promise<ObjectInfo | null> {
  try {
    return await asked
  } catch (error) {
    if (isUnavailableError(error)) return null
    throw error
  }
}
