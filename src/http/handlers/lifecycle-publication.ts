// Serves the files of the publication byte for byte, with their digests as entity tags. Only files of its index can be read.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { LifecycleFile, LifecycleIndex } from '../../../generated/types.ts'
import { evaluatePreconditions } from '../body/conditional-requests.ts'
import { memoize } from './contract-documents.ts'

const PUBLICATION_FOLDER = new URL('../../../generated/lifecycle-v1/', import.meta.url)
const INDEX_FILE = 'index.json'

type PublicationFile = Pick<LifecycleFile, 'name' | 'content_type' | 'sha256'>

/** A file. `text` is null if the caller has it already. */
export interface PublishedFile {
  readonly text: string | null
  readonly content_type: string
  readonly headers: { readonly ETag: string; readonly 'Cache-Control': string }
}

/** All files by name, including the index. */
const publicationFiles = memoize((): ReadonlyMap<string, PublicationFile> => {
  const text = readFileSync(new URL(INDEX_FILE, PUBLICATION_FOLDER), 'utf8')
  const listed = (JSON.parse(text) as LifecycleIndex).files
  const index = { name: INDEX_FILE, content_type: 'application/json', sha256: sha256(text) }
  return new Map([index, ...listed].map((file) => [file.name, file]))
})

/** Schemas are public; their names begin with a capital. */
export function isSchemaName(name: string): boolean {
  return /^[A-Z][A-Za-z0-9]*\.json$/.test(name)
}

/** A file of the publication; null for any other name. Contents may change under the same name, so caches have to revalidate. */
export async function readPublishedFile(
  name: string,
  if_none_match: string | undefined,
): Promise<PublishedFile | null> {
  const file = publicationFiles().get(name)
  if (!file) return null
  const etag = `"${file.sha256}"`
  const outcome = evaluatePreconditions({ 'if-none-match': if_none_match }, { etag })
  const text = outcome === 'unchanged' ? null : await readFile(new URL(file.name, PUBLICATION_FOLDER), 'utf8')
  return { text, content_type: file.content_type, headers: { ETag: etag, 'Cache-Control': 'no-cache' } }
}

/** The index, which always exists. */
export async function readPublishedIndex(if_none_match: string | undefined): Promise<PublishedFile> {
  return (await readPublishedFile(INDEX_FILE, if_none_match))!
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
