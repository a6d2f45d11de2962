// The names of secrets, in the API, in the operator's environment and in nodes.

/** The rule of the contract's `SecretName`. */
export function isSecretName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)
}
