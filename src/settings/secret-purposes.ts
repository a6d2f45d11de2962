// Describes the secrets that the service itself uses.
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { isSecretName } from '../shared/secret-name.ts'

interface ProviderWithKey {
  readonly name: string
  readonly credential: string | null
}

/** Returns the purposes by name: keys of the providers, and secrets that node types need. */
export function listSecretPurposes(
  registry: NodeRegistry,
  providers: readonly ProviderWithKey[],
): ReadonlyMap<string, string> {
  const purposes = new Map<string, string>()
  for (const { name, credential } of providers)
    if (credential !== null) purposes.set(credential, `The key of the provider "${name}".`)
  const needed = registry
    .all()
    .flatMap(({ node_type, required_settings = [] }) => required_settings.map((name) => ({ name, node_type })))
    .filter(({ name }) => isSecretName(name))
  for (const [name, types] of Map.groupBy(needed, ({ name }) => name)) {
    const need = `Needed by nodes of the type ${types.map(({ node_type }) => `"${node_type}"`).join(', ')}.`
    purposes.set(name, [purposes.get(name), need].filter(Boolean).join(' '))
  }
  return purposes
}
