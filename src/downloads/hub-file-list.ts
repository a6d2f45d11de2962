// Parses the list of a repository's files. Only the entries of selected files are validated.

import { isObject } from '../shared/record.ts'
import { DownloadError } from './error.ts'
import { CONFLICT_ADVICE, type FileDigest, type HubFile, type ListedFile, quotePath } from './hub-file.ts'
import { isSafePath } from './safe-path.ts'

const MOST_FILES = 20_000

/** @throws DownloadError */
export function parseFileList(listed: unknown, repo_id: string): ListedFile[] {
  const siblings = isObject(listed) ? listed.siblings : null
  if (!Array.isArray(siblings)) throw new DownloadError('The hub sent no list of files.')
  if (siblings.length > MOST_FILES) throw new DownloadError(`The repository "${repo_id}" has too many files.`)
  return siblings.map((entry: unknown) => {
    const fields = isObject(entry) ? entry : {}
    const path = String(fields.rfilename ?? '')
    return { path, validate: () => parseFile(path, fields) }
  })
}

function parseFile(path: string, { rfilename, size, blobId, lfs }: Record<string, unknown>): HubFile {
  if (rfilename !== path || !isSafePath(path))
    throw new DownloadError(
      `The hub lists a file whose name cannot be used here: ${quotePath(path)}. ${CONFLICT_ADVICE}`,
    )
  const large = isObject(lfs) ? lfs : null
  const bytes = large?.size ?? size
  const digest = large ? parseDigest('sha256', large.sha256 ?? large.oid) : parseDigest('git', blobId)
  if (digest && typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0)
    return { path, size: bytes, digest }
  throw new DownloadError(`The hub does not give the size or the digest of ${quotePath(path)}.`)
}

const DIGEST_PATTERNS = { sha256: /^[0-9a-f]{64}$/, git: /^[0-9a-f]{40}$/ } as const

function parseDigest(kind: FileDigest['kind'], hex: unknown): FileDigest | null {
  return typeof hex === 'string' && DIGEST_PATTERNS[kind].test(hex) ? { kind, hex } : null
}
