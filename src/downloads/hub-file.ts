// The types of a hub's files, as listed and as fetched.

/** The digest of a file: SHA-256 for large files, git's blob hash for others. */
export interface FileDigest {
  readonly kind: 'sha256' | 'git'
  readonly hex: string
}

export interface HubFile {
  readonly path: string
  readonly size: number
  readonly digest: FileDigest
}

/** An entry of the list, which is not validated yet. */
export interface ListedFile {
  readonly path: string
  /** @throws DownloadError if the name or the facts of the file cannot be used */
  validate(): HubFile
}

/** Advice for a file that stands in the way of others. */
export const CONFLICT_ADVICE = 'Download a single file, or exclude this one with a pattern.'

export function quotePath(path: string): string {
  return JSON.stringify(path.toWellFormed().slice(0, 200))
}
