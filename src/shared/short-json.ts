// JSON for people: what fits into a line stays on one.

const INDENT = '  '

/**
 * The JSON text of a value. A list or an object that is longer than a line of `width` characters has a line for each of its members, as
 * has the value itself. Texts are never broken.
 */
export function formatShortJson(value: unknown, width: number): string {
  return isCollection(value) ? formatMembers(value, width, '') : JSON.stringify(value)
}

function isCollection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function formatMembers(value: object, width: number, indent: string): string {
  const deeper = indent + INDENT
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const lines = Object.entries(value).map(([name, member]) => {
    const start = deeper + (Array.isArray(value) ? '' : `${JSON.stringify(name)}: `)
    const line = start + formatLine(member)
    return line.length <= width || !isCollection(member) ? line : start + formatMembers(member, width, deeper)
  })
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

function formatLine(value: unknown): string {
  if (!isCollection(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(formatLine).join(', ')}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${formatLine(member)}`)
  return `{${members.join(', ')}}`
}
