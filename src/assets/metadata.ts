// What is known about an asset: what its owner says, and what was found by looking at the content. Both are kept apart in one column, so that
// either is replaced without the other.

export type Metadata = Readonly<Record<string, unknown>>

/** Of the bytes of a small picture. */
export interface ThumbFacts {
  readonly size: number
  readonly sha256: string
}

/** What was seen by looking at content. */
export interface Found {
  readonly found: Metadata
  /** Absent where there is no small picture. */
  readonly thumb?: ThumbFacts
}

/** The column `metadata`, as JSON. */
interface Parts extends Partial<Found> {
  readonly own?: Record<string, unknown>
}

/** The column for what an owner says of a new asset. */
export function ownMetadata(own: Metadata): string {
  return JSON.stringify({ own } satisfies Parts)
}

/** What the world sees: what was found, and above it what the owner says. */
export function metadataOf(column: string): Record<string, unknown> {
  const { own = {}, found = {} } = partsOf(column)
  // An owner may say thousands of things: to copy them costs more than to read them.
  const all: Record<string, unknown> = own
  for (const [name, value] of Object.entries(found)) if (!Object.hasOwn(own, name)) all[name] = value
  return all
}

/** The column with another owner's part. */
export function withOwn(column: string, own: Metadata): string {
  return JSON.stringify({ ...partsOf(column), own } satisfies Parts)
}

/** The column with another part of what was found. */
export function withFound(column: string, { found, thumb }: Found): string {
  const { own } = partsOf(column)
  return JSON.stringify({ own, found, thumb } satisfies Record<keyof Parts, unknown>)
}

/** What was found, of the column of an asset that somebody has looked at. */
export function foundOf(column: string): Found {
  const { found = {}, thumb } = partsOf(column)
  return thumb ? { found, thumb } : { found }
}

function partsOf(column: string): Parts {
  return JSON.parse(column) as Parts
}
