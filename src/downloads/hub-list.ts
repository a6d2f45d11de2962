// The list of a repository's files as a hub gives it. What it says of a file is judged for those alone that somebody wants.
import { DownloadFault } from './fault.ts'
import { CURE, type Digest, type HubFile, type ListedFile, shown } from './hub-file.ts'
import { isSafePath } from './safe-path.ts'

const MOST_FILES = 20_000

/** @throws DownloadFault */
export function filesIn(listed: unknown, repo_id: string): ListedFile[] {
  const siblings = isRecord(listed) ? listed.siblings : null
  if (!Array.isArray(siblings)) throw new DownloadFault('The hub gave no list of files.')
  if (siblings.length > MOST_FILES) throw new DownloadFault(`The repository "${repo_id}" has too many files.`)
  return siblings.map((entry: unknown) => {
    const said = isRecord(entry) ? entry : {}
    const path = String(said.rfilename ?? '')
    return { path, judged: () => fileOf(path, said) }
  })
}

function fileOf(path: string, { rfilename, size, blobId, lfs }: Record<string, unknown>): HubFile {
  if (rfilename !== path || !isSafePath(path))
    throw new DownloadFault(`The hub lists a file whose name cannot be used here: ${shown(path)}. ${CURE}`)
  const large = isRecord(lfs) ? lfs : null
  const bytes = large?.size ?? size
  const digest = large ? digestOf('sha256', large.sha256 ?? large.oid) : digestOf('git', blobId)
  if (digest && typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0)
    return { path, size: bytes, digest }
  throw new DownloadFault(`The hub does not say how long ${shown(path)} is, or what its digest is.`)
}

const DIGITS = { sha256: /^[0-9a-f]{64}$/, git: /^[0-9a-f]{40}$/ } as const

function digestOf(kind: Digest['kind'], hex: unknown): Digest | null {
  return typeof hex === 'string' && DIGITS[kind].test(hex) ? { kind, hex } : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
