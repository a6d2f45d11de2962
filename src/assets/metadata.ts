// What is known about an asset: what its owner says, and what was found by looking at the content. Both are kept apart in one column, so that
// either is replaced without the other.

export type AssetMetadata = Readonly<Record<string, unknown>>

/** Of the bytes of a small picture. */
export interface ThumbnailInfo {
  readonly size: number
  readonly sha256: string
}

/** What was seen by looking at content. */
export interface ContentFindings {
  readonly found: AssetMetadata
  /** Absent where there is no small picture. */
  readonly thumb?: ThumbnailInfo
}

/** The column `metadata`, as JSON. */
interface MetadataColumn extends Partial<ContentFindings> {
  readonly own?: Record<string, unknown>
}

/** The column for what an owner says of a new asset. */
export function formatOwnMetadata(own: AssetMetadata): string {
  return JSON.stringify({ own } satisfies MetadataColumn)
}

/** What the world sees: what was found, and above it what the owner says. */
export function readMetadata(column: string): Record<string, unknown> {
  const { own = {}, found = {} } = parseColumn(column)
  // An owner may say thousands of things: to copy them costs more than to read them.
  const all: Record<string, unknown> = own
  for (const [name, value] of Object.entries(found)) if (!Object.hasOwn(own, name)) all[name] = value
  return all
}

/** The column with another owner's part. */
export function replaceOwnMetadata(column: string, own: AssetMetadata): string {
  return JSON.stringify({ ...parseColumn(column), own } satisfies MetadataColumn)
}

/** The column with another part of what was found. */
export function replaceFindings(column: string, { found, thumb }: ContentFindings): string {
  const { own } = parseColumn(column)
  return JSON.stringify({ own, found, thumb } satisfies Record<keyof MetadataColumn, unknown>)
}

/** What was found, of the column of an asset that somebody has looked at. */
export function readFindings(column: string): ContentFindings {
  const { found = {}, thumb } = parseColumn(column)
  return thumb ? { found, thumb } : { found }
}

function parseColumn(column: string): MetadataColumn {
  return JSON.parse(column) as MetadataColumn
}
