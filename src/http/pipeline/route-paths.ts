// Routes for the paths of the contract. A concrete path matches before a templated one (OpenAPI 3.1, Paths Object).
import type { OperationInfo } from '../../../generated/operations.ts'

/** The operations of each path, the most literal path first. */
export function groupByPath(operations: readonly OperationInfo[]): OperationInfo[][] {
  const groups = Map.groupBy(operations, ({ path }) => path)
  return [...groups]
    .sort(([a], [b]) => (computeLiteralness(a) < computeLiteralness(b) ? 1 : -1))
    .map(([, group]) => group)
}

/** `/api/workflows/{id}` gives `110`: from the left, a literal segment sorts before a parameter. */
function computeLiteralness(path: string): string {
  return path.replace(/\/[^/]*/g, (segment) => (segment.includes('{') ? '0' : '1'))
}

/** The syntax of Express for `/api/workflows/{id}`; a path that is also served with a trailing slash gives two routes. */
export function toExpressPaths({ path, wildcard, trailing_slash }: OperationInfo): string[] {
  const route = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === wildcard ? `*${name}` : `:${name}`))
  return trailing_slash ? [route, `${route}/`] : [route]
}

/** The methods of one path's operations, as `Allow` lists them. */
export function listAllowedMethods(operations: readonly OperationInfo[]): string {
  const methods = new Set(operations.map(({ method }) => method.toUpperCase()))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods.add('OPTIONS')].sort().join(', ')
}

/** Finds the operations of a path, for all methods; none for an unknown path. */
export function createOperationFinder(
  operations: readonly OperationInfo[],
): (path: string) => readonly OperationInfo[] {
  const routes = groupByPath(operations).map((group) => ({ group, pattern: toPathPattern(group[0]!) }))
  return (path) => routes.find((claim) => claim.pattern.test(path))?.group ?? []
}

function toPathPattern({ path, wildcard, trailing_slash }: OperationInfo): RegExp {
  const source = path
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') ? (part === `{${wildcard}}` ? '.+' : '[^/]+') : part.replaceAll('.', '\\.')))
    .join('')
  return new RegExp(`^${source}${trailing_slash ? '/?' : ''}$`)
}
