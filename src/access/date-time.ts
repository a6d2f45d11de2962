// Parses date-times.

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[T ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const SECOND_MS = 1_000
const DAY_MS = 86_400_000

/**
 * The instant of a `date-time` (RFC 3339, section 5.6) in milliseconds since the epoch; null if it is invalid, such as 30 February. A leap second,
 * which this clock lacks, becomes the next second.
 */
export function parseDateTime(text: string): number | null {
  const written = text.toUpperCase()
  const [, year, month, day, hour, minute, second, fraction = '', offset] = DATE_TIME.exec(written) ?? []
  if (year === undefined) return null
  const date = `${year}-${month}-${day}`
  // JavaScript reads 30 February as 2 March.
  const start = Date.parse(date)
  if (Number.isNaN(start) || !new Date(start).toISOString().startsWith(date)) return null
  if (second !== '60') return Date.parse(`${date}T${hour}:${minute}:${second}${fraction}${offset}`)
  const after = Date.parse(`${date}T${hour}:${minute}:59${offset}`) + SECOND_MS
  return after % DAY_MS === 0 ? after : null
}
