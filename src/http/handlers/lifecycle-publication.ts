// The files of the publication as they are served: found in its index alone, byte for byte, with their digests as entity tags.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { LifecycleFile, LifecycleIndex } from '../../../generated/types.ts'
import { evaluatePreconditions } from '../body/conditional-requests.ts'
import { memoize } from './contract-documents.ts'

const PUBLICATION_FOLDER = new URL('../../../generated/lifecycle-v1/', import.meta.url)
const INDEX_FILE = 'index.json'

type PublicationFile = Pick<LifecycleFile, 'name' | 'content_type' | 'sha256'>

/** A file's text, or null where the caller has it already. */
export interface PublishedFile {
  readonly text: string | null
  readonly content_type: string
  readonly headers: { readonly ETag: string; readonly 'Cache-Control': string }
}

/** All files by name, the index among them. */
const publicationFiles = memoize((): ReadonlyMap<string, PublicationFile> => {
  const text = readFileSync(new URL(INDEX_FILE, PUBLICATION_FOLDER), 'utf8')
  const listed = (JSON.parse(text) as LifecycleIndex).files
  const index = { name: INDEX_FILE, content_type: 'application/json', sha256: sha256(text) }
  return new Map([index, ...listed].map((file) => [file.name, file]))
})

/** The schemas among them are open to everybody; their names begin with a capital. */
export function isSchemaName(name: string): boolean {
  return /^[A-Z][A-Za-z0-9]*\.json$/.test(name)
}

/** A file of the publication, or null: whatever a name says, nothing else is read. Names stay while contents change, so caches ask each time. */
export async function readPublishedFile(
  name: string,
  if_none_match: string | undefined,
): Promise<PublishedFile | null> {
  const file = publicationFiles().get(name)
  if (!file) return null
  const etag = `"${file.sha256}"`
  const met = evaluatePreconditions({ 'if-none-match': if_none_match }, { etag })
  const text = met === 'unchanged' ? null : await readFile(new URL(file.name, PUBLICATION_FOLDER), 'utf8')
  return { text, content_type: file.content_type, headers: { ETag: etag, 'Cache-Control': 'no-cache' } }
}

/** The index, which is always there. */
export async function readPublishedIndex(if_none_match: string | undefined): Promise<PublishedFile> {
  return (await readPublishedFile(INDEX_FILE, if_none_match))!
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
