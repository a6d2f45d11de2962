// Tables: sales of a book shop, the weather of three towns, and quarters of accounts, all made up and the same each time.
import { parquetWriteBuffer } from 'hyparquet-writer'

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function chances(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296
  }
}

const DAY_MS = 86_400_000

function dayOf(index: number): string {
  return new Date(Date.UTC(2026, 0, 1) + index * DAY_MS).toISOString().slice(0, 10)
}

const SHOPS = ['Harbour', 'Old Town', 'Station'] as const
const KINDS = [
  ['novel', 14],
  ['cookbook', 28],
  ['map', 9],
  ['children', 11],
] as const

function csv(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return `${[columns, ...rows].map((row) => row.join(',')).join('\n')}\n`
}

/** Each row is what one shop sold of one kind on one day. */
export function sales(): string {
  const chance = chances(2026)
  const rows = Array.from({ length: 180 }, (_, index) => {
    const [kind, price] = KINDS[Math.floor(chance() * KINDS.length)]!
    const sold = 1 + Math.floor(chance() ** 2 * 12)
    return [
      dayOf(Math.floor(index / 2)),
      SHOPS[Math.floor(chance() * SHOPS.length)]!,
      kind,
      sold,
      (sold * price).toFixed(2),
    ]
  })
  return csv(['date', 'shop', 'kind', 'sold', 'revenue'], rows)
}

const TOWNS = [
  ['Northport', 4, 11],
  ['Midvale', 9, 13],
  ['Southbay', 15, 8],
] as const

/** A row for each day of 2026 and each town: the mean temperature in °C, rain in mm, hours of sun. */
export function weather(): Uint8Array {
  const chance = chances(365)
  const rows = TOWNS.flatMap(([town, mean, swing]) =>
    Array.from({ length: 365 }, (_, index) => {
      const season = Math.cos(((index - 200) / 365) * 2 * Math.PI)
      const wet = chance() > 0.68
      const temperature = mean + swing * season + (chance() - 0.5) * 6
      const sun = Math.max(0, (8 + 4 * season) * (wet ? 0.3 : 1) * (0.5 + chance() / 2))
      return { town, date: dayOf(index), temperature, rain: wet ? chance() ** 2 * 30 : 0, sun }
    }),
  )
  const rounded = (name: 'temperature' | 'rain' | 'sun') => rows.map((row) => Math.round(row[name] * 10) / 10)
  const columnData = [
    { name: 'town', data: rows.map(({ town }) => town), type: 'STRING' as const },
    { name: 'date', data: rows.map(({ date }) => date), type: 'STRING' as const },
    { name: 'temperature', data: rounded('temperature'), type: 'DOUBLE' as const },
    { name: 'rain', data: rounded('rain'), type: 'DOUBLE' as const },
    { name: 'sun', data: rounded('sun'), type: 'DOUBLE' as const },
  ]
  return new Uint8Array(parquetWriteBuffer({ columnData }))
}

const ACCOUNTS = ['Rent', 'Wages', 'Stock', 'Electricity', 'Repairs'] as const

/** What was spent in each quarter, by file name. */
export function quarters(): Record<string, string> {
  const chance = chances(4)
  const files = [1, 2, 3, 4].map((quarter) => {
    const rows = ACCOUNTS.map((account, at) => [account, (800 * (ACCOUNTS.length - at) + chance() * 400).toFixed(2)])
    return [`2026-q${quarter}.csv`, csv(['account', 'amount'], rows)]
  })
  return Object.fromEntries(files)
}
