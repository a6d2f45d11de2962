// Where the objects of temporary files lie in their store: those of a user together, so that what the user keeps is one range of its keys.
import { isUnavailable } from '../errors.ts'
import { sha256 } from '../hashes.ts'
import { keySegment } from './keys.ts'
import type { ObjectFacts, ObjectStore } from './object-store.ts'
import type { KeptBytes } from './temporary-quota.ts'

/** How long a file is kept after it has arrived. */
export const TEMPORARY_HOURS = 24
export const KEPT_MS = TEMPORARY_HOURS * 3_600_000

/** The key of the object of an id of 48 hexadecimal characters: the user's folder, one of sixteen in it, and the id. */
export function objectKey(user_id: string, id: string): string {
  return keyIn(keySegment(user_id), id)
}

/** Where the object of a key lies, or null for what is no key of a temporary file. The record says whether it is the object's own. */
export function placeOf(storage_key: string): string | null {
  const parts = /^temp\/([^/]+)\/([0-9a-f]{48})\.[a-z0-9]+$/.exec(storage_key)
  return parts && keyIn(parts[1]!, parts[2]!)
}

/** What the keys of all temporary files of a user begin with, of uploads and of objects. */
export function temporaryFolder(user_id: string): string {
  return `temp/${keySegment(user_id)}/`
}

function keyIn(segment: string, id: string): string {
  return `${folderOf(segment)}/${id[0]}/${id}`
}

/** Of one length, and another one for each user whatever a file system thinks of case. */
function folderOf(segment: string): string {
  return sha256(segment).slice(0, 32)
}

/** Keys that are asked for at once, and objects that are looked at so. */
const LISTED = 1_000
const LOOKED_AT_ONCE = 16

/**
 * What the store keeps of a user, past its time or not. Where its bucket cannot be used, it goes on with what lies on this machine, and ends with
 * @throws SERVICE_UNAVAILABLE
 */
export async function* filesOfUser(objects: ObjectStore, user_id: string): AsyncGenerator<KeptBytes> {
  const folder = folderOf(keySegment(user_id))
  let after = folder
  try {
    for await (const keys of keysIn(folder, after, objects.list.bind(objects))) {
      yield* await keptOf(keys, (key) => objects.stat(key))
      after = keys.at(-1)!
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error
    for await (const keys of keysIn(folder, after, objects.listHere.bind(objects)))
      yield* await keptOf(keys, (key) => unlessGone(objects.stat(key)))
    throw error
  }
}

/** Keys in a folder behind one, a few at a time. */
async function* keysIn(folder: string, behind: string, list: ObjectStore['list']): AsyncGenerator<string[]> {
  for (let after = behind; ; ) {
    const listed = await list(after, LISTED)
    const keys = listed.filter((key) => key.startsWith(`${folder}/`))
    for (let from = 0; from < keys.length; from += LOOKED_AT_ONCE) yield keys.slice(from, from + LOOKED_AT_ONCE)
    if (keys.length < LISTED) return
    after = keys.at(-1)!
  }
}

async function keptOf(keys: readonly string[], stat: ObjectStore['stat']): Promise<KeptBytes[]> {
  const found = await Promise.all(keys.map(async (key) => [key, await stat(key)] as const))
  return found.flatMap(([key, facts]) =>
    facts ? [{ key, bytes: facts.size, expires_at: facts.put_at + KEPT_MS }] : [],
  )
}

/** Null for what has left this machine meanwhile. */
async function unlessGone(asked: Promise<ObjectFacts | null>): Promise<ObjectFacts | null> {
  try {
    return await asked
  } catch (error) {
    if (isUnavailable(error)) return null
    throw error
  }
}
