// The metadata of an asset: the part that its owner sets, and the findings from its content. One column holds both, so that each is
// replaced without the other.

export type AssetMetadata = Readonly<Record<string, unknown>>

/** Size and digest of a thumbnail. */
export interface ThumbnailInfo {
  readonly size: number
  readonly sha256: string
}

/** The metadata that were read from the content. */
export interface ContentFindings {
  readonly found: AssetMetadata
  /** Absent if there is no thumbnail. */
  readonly thumb?: ThumbnailInfo
}

/** The column `metadata`, as JSON. */
interface MetadataColumn extends Partial<ContentFindings> {
  readonly own?: Record<string, unknown>
}

/** Formats the column for the metadata that the owner sets on a new asset. */
export function formatOwnMetadata(own: AssetMetadata): string {
  return JSON.stringify({ own } satisfies MetadataColumn)
}

/** Returns the metadata that clients see: the findings, overridden by the owner's part. */
export function readMetadata(column: string): Record<string, unknown> {
  const { own = {}, found = {} } = parseColumn(column)
  // The owner's part may have thousands of members, and copying it costs more than parsing it.
  const all: Record<string, unknown> = own
  for (const [name, value] of Object.entries(found)) if (!Object.hasOwn(own, name)) all[name] = value
  return all
}

/** Replaces the owner's part in the column. */
export function replaceOwnMetadata(column: string, own: AssetMetadata): string {
  return JSON.stringify({ ...parseColumn(column), own } satisfies MetadataColumn)
}

/** Replaces the findings in the column. */
export function replaceFindings(column: string, { found, thumb }: ContentFindings): string {
  const { own } = parseColumn(column)
  return JSON.stringify({ own, found, thumb } satisfies Record<keyof MetadataColumn, unknown>)
}

/** Reads the findings of an asset whose preview was generated. */
export function readFindings(column: string): ContentFindings {
  const { found = {}, thumb } = parseColumn(column)
  return thumb ? { found, thumb } : { found }
}

function parseColumn(column: string): MetadataColumn {
  return JSON.parse(column) as MetadataColumn
}
