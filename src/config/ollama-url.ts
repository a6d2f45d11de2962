// Parses the URL of Ollama from the setting of Ollama's own tools. Values that those tools ignore silently are refused here.
import { isIPv6 } from 'node:net'
import type { SettingsReader } from './settings-reader.ts'

/** Ollama's default port. */
const PORT = 11_434
const MAX_PORT = 65_535
const FORM = /^(?:(https?):\/\/)?([^/?#@\s\\]*)(\/[^?#\s\\]*)?$/i

/** Null: the setting is absent or wrong. */
export function readOllamaUrl(read: SettingsReader, setting: string, problems: string[]): string | null {
  const value = read.text(setting)
  const url = value === null ? null : parseOllamaUrl(value)
  if (value !== null && url === null)
    problems.push(`${setting} must be a host, with or without http:// or https:// before it and a port behind it`)
  return url
}

/** Accepts `:port`, a host or an address, with or without scheme, port and path. Null: the text is none of these. */
function parseOllamaUrl(setting: string): string | null {
  const text = setting.trim().replaceAll(/^["']+|["']+$/g, '')
  const [, scheme, authority, path = ''] = FORM.exec(text) ?? []
  if (authority === undefined) return null
  if (scheme === undefined && authority === 'ollama.com') return `https://ollama.com${path.replace(/\/+$/, '')}/v1`
  const place = parseAuthority(authority)
  if (!place) return null
  const port = place.port ?? (scheme === undefined ? PORT : null)
  const url = URL.parse(`${scheme ?? 'http'}://${place.host}${port === null ? '' : `:${port}`}${path}`)
  return url && `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1`
}

/** An unspecified address, or none, means this machine. */
function parseAuthority(authority: string): { host: string; port: number | null } | null {
  if (isIPv6(authority)) return { host: toLoopbackHost(`[${authority}]`), port: null }
  const [, host, port] = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(authority) ?? []
  if (host === undefined || (host.startsWith('[') && !isIPv6(host.slice(1, -1)))) return null
  const number = port === undefined ? null : Number(port)
  return number !== null && number > MAX_PORT ? null : { host: toLoopbackHost(host), port: number }
}

function toLoopbackHost(host: string): string {
  if (host === '' || host === '0.0.0.0') return '127.0.0.1'
  return /^\[[0:]+\]$/.test(host) ? '[::1]' : host
}
