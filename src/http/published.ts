// The files of the publication as they are served: found in its index alone, byte for byte, with their digests as entity tags.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { LifecycleFile, LifecycleIndex } from '../../generated/types.ts'
import { preconditions } from './conditions.ts'
import { once } from './document.ts'

const FOLDER = new URL('../../generated/lifecycle-v1/', import.meta.url)
const INDEX = 'index.json'

type File = Pick<LifecycleFile, 'name' | 'content_type' | 'sha256'>

/** A file's text, or null where the caller has it already. */
export interface Published {
  readonly text: string | null
  readonly content_type: string
  readonly headers: { readonly ETag: string; readonly 'Cache-Control': string }
}

/** All files by name, the index among them. */
const files = once((): ReadonlyMap<string, File> => {
  const text = readFileSync(new URL(INDEX, FOLDER), 'utf8')
  const listed = (JSON.parse(text) as LifecycleIndex).files
  const index = { name: INDEX, content_type: 'application/json', sha256: sha256(text) }
  return new Map([index, ...listed].map((file) => [file.name, file]))
})

/** The schemas among them are open to everybody; their names begin with a capital. */
export function isSchemaName(name: string): boolean {
  return /^[A-Z][A-Za-z0-9]*\.json$/.test(name)
}

/** A file of the publication, or null: whatever a name says, nothing else is read. Names stay while contents change, so caches ask each time. */
export async function published(name: string, if_none_match: string | undefined): Promise<Published | null> {
  const file = files().get(name)
  if (!file) return null
  const etag = `"${file.sha256}"`
  const met = preconditions({ 'if-none-match': if_none_match }, { etag })
  const text = met === 'unchanged' ? null : await readFile(new URL(file.name, FOLDER), 'utf8')
  return { text, content_type: file.content_type, headers: { ETag: etag, 'Cache-Control': 'no-cache' } }
}

/** The index, which is always there. */
export async function publishedIndex(if_none_match: string | undefined): Promise<Published> {
  return (await published(INDEX, if_none_match))!
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
