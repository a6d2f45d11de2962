// Paths of the contract as routes.
import type { OperationInfo } from '../../generated/operations.ts'

/** `/api/workflows/{id}` as Express writes it; a path that is also served with a trailing slash gives two. */
export function expressPaths({ path, wildcard, trailing_slash }: OperationInfo): string[] {
  const route = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === wildcard ? `*${name}` : `:${name}`))
  return trailing_slash ? [route, `${route}/`] : [route]
}

function pattern({ path, wildcard, trailing_slash }: OperationInfo): RegExp {
  const source = path
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') ? (part === `{${wildcard}}` ? '.+' : '[^/]+') : part.replaceAll('.', '\\.')))
    .join('')
  return new RegExp(`^${source}${trailing_slash ? '/?' : ''}$`)
}

/** Tells which methods a path takes, for `Allow`; none for an unknown path. */
export function methodFinder(served: readonly OperationInfo[]): (path: string) => string[] {
  const routes = served.map((operation) => ({ method: operation.method.toUpperCase(), pattern: pattern(operation) }))
  return (path) => {
    const methods = new Set(routes.filter((route) => route.pattern.test(path)).map((route) => route.method))
    if (methods.size === 0) return []
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods.add('OPTIONS')].sort()
  }
}
