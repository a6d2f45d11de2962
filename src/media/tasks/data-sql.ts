// What may be asked of a database: one statement that reads. A first look at the text, before SQLite itself is asked.
import { MediaFault } from '../fault.ts'

/** In characters. */
const LONGEST_SQL = 100_000

/** Strings and comments, which are left out, and quoted names, which stay. */
const PIECES = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/g

/** @throws MediaFault `bad_input` for what does not begin as a statement that reads, or names a PRAGMA; `too_large` */
export function guardSql(sql: string): void {
  if (sql.length > LONGEST_SQL)
    throw new MediaFault('too_large', `The statement has more than ${LONGEST_SQL.toLocaleString('en')} characters.`)
  if (sql.includes('\0')) throw new MediaFault('bad_input', 'The statement has a NUL in it.')
  const code = sql.replace(PIECES, (piece) => (/^['/-]/.test(piece) ? ' ' : piece))
  if (!/^\s*(?:select|with|values)\b/i.test(code))
    throw new MediaFault('bad_input', 'The statement does not begin with SELECT, WITH or VALUES: others are not run.')
  if (/\bpragma_/i.test(code))
    throw new MediaFault('bad_input', 'The statement asks for a PRAGMA: those are not offered.')
}
