// Finds the cells with an elapsed time, such as 36:00:00 in the format [h]:mm:ss. The library would read them as dates, and 36 hours as noon.
import { Parser } from 'htmlparser2'

/** The number of the built-in format [h]:mm:ss. */
const BUILT_IN = '46'
/** Hours, minutes or seconds that are not carried over into days; colours such as [Red] do not match. */
const ELAPSED = /\[(?:h+|m+|s+)\]/i

const SECONDS_A_DAY = 86_400
const MILLISECONDS = 1_000
/** Above this, milliseconds are no exact integers. */
const MOST_DAYS = 100_000_000

/** The numbers of the cell styles for elapsed times. */
function findElapsedStyles(styles: string): ReadonlySet<string> {
  const formats = new Set([BUILT_IN])
  const found = new Set<string>()
  let [inCells, count] = [false, 0]
  const parser = new Parser(
    {
      onopentag: (name, { numFmtId, formatCode = '' }) => {
        const local = name.slice(name.indexOf(':') + 1)
        if (local === 'numFmt' && ELAPSED.test(formatCode.replaceAll(/"[^"]*"/g, ''))) formats.add(numFmtId ?? '')
        if (local === 'cellXfs') inCells = true
        if (local === 'xf' && inCells && formats.has(numFmtId ?? '')) found.add(String(count))
        if (local === 'xf' && inCells) count++
      },
      onclosetag: (name) => {
        if (name.slice(name.indexOf(':') + 1) === 'cellXfs') inCells = false
      },
    },
    { xmlMode: true },
  )
  parser.end(styles)
  return found
}

/** Gives the shown text of the cells with such a style, in hours, minutes and seconds, by their positions, such as B6. */
export function findElapsedCells(styles: string | undefined, sheet: string): ReadonlyMap<string, string> {
  const cells = new Map<string, string>()
  const wanted = findElapsedStyles(styles ?? '')
  if (wanted.size === 0) return cells
  let [place, digits] = ['', null as string | null]
  const parser = new Parser(
    {
      onopentag: (name, { r = '', s = '', t = 'n' }) => {
        const local = name.slice(name.indexOf(':') + 1)
        if (local === 'c') place = t === 'n' && wanted.has(s) ? r : ''
        if (local === 'v' && place !== '') digits = ''
      },
      ontext: (text) => {
        if (digits !== null) digits += text
      },
      onclosetag: () => {
        const days = digits?.trim() ? Number(digits) : Number.NaN
        if (Math.abs(days) < MOST_DAYS) cells.set(place, formatElapsed(days))
        digits = null
      },
    },
    { xmlMode: true },
  )
  parser.end(sheet)
  return cells
}

function formatElapsed(days: number): string {
  const all = Math.round(Math.abs(days) * SECONDS_A_DAY * MILLISECONDS)
  const [seconds, rest] = [Math.floor(all / MILLISECONDS), all % MILLISECONDS]
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  const text = [hours, minutes, seconds % 60].map((part) => String(part).padStart(2, '0')).join(':')
  return `${days < 0 ? '-' : ''}${text}${rest === 0 ? '' : `.${String(rest).padStart(3, '0')}`}`
}
