// Checks the names of files in archives. Names that lead out of the folder, or that two files share, are refused.
import { truncateText } from '../../../shared/text-truncation.ts'
import { MediaFault, type MediaFaultType } from '../../fault.ts'

/** In characters. */
const LONGEST_NAME = 1_000

function findNameProblem(name: string): string | null {
  if (name === '') return 'has no name'
  if (name.length > LONGEST_NAME) return `has a name of more than ${LONGEST_NAME} characters`
  if (/\p{Cc}/u.test(name)) return 'has control characters in its name'
  if (name.includes('\\')) return 'has a backslash in its name'
  if (name.startsWith('/') || /^[a-z]:/i.test(name)) return 'has an absolute path as its name'
  const parts = name.replace(/\/$/, '').split('/')
  if (parts.includes('..')) return 'has a name that leads out of the archive'
  return parts.includes('') || parts.includes('.') ? 'has a name with empty parts' : null
}

function displayName(name: string): string {
  return truncateText(name, 100).replaceAll(/\p{Cc}/gu, '\uFFFD')
}

/** @throws MediaFault of the type */
export function guardEntryNames(names: readonly string[], type: MediaFaultType): void {
  const seen = new Set<string>()
  for (const name of names) {
    const wrong = findNameProblem(name)
    if (wrong) throw new MediaFault(type, `A file of the archive ${wrong}: "${displayName(name)}".`)
    const key = name.replace(/\/$/, '')
    if (seen.has(key))
      throw new MediaFault(type, `Two files of the archive have the same name: "${displayName(name)}".`)
    seen.add(key)
  }
}
