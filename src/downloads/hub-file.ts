// A file of a hub, as it is listed and as it is fetched.

/** The digest of a file: of large ones SHA-256, of others as git names their content. */
export interface FileDigest {
  readonly kind: 'sha256' | 'git'
  readonly hex: string
}

export interface HubFile {
  readonly path: string
  readonly size: number
  readonly digest: FileDigest
}

/** As it stands in the list. */
export interface ListedFile {
  readonly path: string
  /** @throws DownloadFault where its name or what is said of it is of no use */
  validate(): HubFile
}

/** What to do about a file that stands in the way of others. */
export const CONFLICT_ADVICE = 'Ask for one file, or leave it out with a pattern.'

export function quotePath(path: string): string {
  return JSON.stringify(path.toWellFormed().slice(0, 200))
}
