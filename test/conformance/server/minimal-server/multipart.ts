// One file out of a form (RFC 7578), read whole.
import { Refusal } from './refusal.ts'

interface Part {
  field: string
  name: string
  content_type: string
  bytes: Buffer
}

/** @throws Refusal unless the form has exactly one part, named `file` */
export function oneFile(header: string, bytes: Buffer, lenient: boolean): Part {
  const [, quoted, plain] = header.match(/boundary=(?:"([^"]+)"|([^;]+))/) ?? []
  const parts = partsOf(bytes.toString('latin1'), `--${quoted ?? plain ?? ''}`)
  const [file] = parts
  if (file?.field !== 'file') throw new Refusal('INVALID_REQUEST', [{ path: '/body/file', message: 'is missing' }])
  if (file.bytes.length === 0) throw new Refusal('INVALID_REQUEST', [{ path: '/body/file', message: 'is empty' }])
  if (parts.length > 1 && !lenient)
    throw new Refusal('INVALID_REQUEST', [{ path: '/body', message: 'has several parts' }])
  return file
}

function partsOf(text: string, delimiter: string): Part[] {
  return text
    .split(delimiter)
    .slice(1, -1)
    .map((part) => {
      const at = part.indexOf('\r\n\r\n')
      const head = part.slice(0, at)
      const value = (name: string) => head.match(new RegExp(`[ ;]${name}="([^"]*)"`))?.[1] ?? ''
      return {
        field: value('name'),
        name: value('filename'),
        content_type: head.match(/content-type: *([^\r\n]+)/i)?.[1] ?? 'application/octet-stream',
        bytes: Buffer.from(part.slice(at + 4, -2), 'latin1'),
      }
    })
}
