// Checks the text of a statement before SQLite parses it: only one reading statement is allowed.
import { MediaFault } from '../../fault.ts'

/** In characters. */
const LONGEST_SQL = 100_000

/** Space and comments before the first word. */
const COMMENTS = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*/

/** @throws MediaFault `bad_input` for a text that does not begin as a reading statement, `too_large` */
export function guardSqlStatement(sql: string): void {
  if (sql.length > LONGEST_SQL)
    throw new MediaFault('too_large', `The statement has more than ${LONGEST_SQL.toLocaleString('en')} characters.`)
  if (sql.includes('\0')) throw new MediaFault('bad_input', 'The statement has a NUL in it.')
  if (!/^(?:select|with|values)\b/i.test(sql.replace(COMMENTS, '')))
    throw new MediaFault(
      'bad_input',
      'The statement does not begin with SELECT, WITH or VALUES: others are not allowed.',
    )
}
