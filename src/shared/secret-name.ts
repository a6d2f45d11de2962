// What a secret may be called, wherever it is set or asked for: in the API, in the operator's environment, in nodes.

/** As the contract's `SecretName` has it. */
export function isSecretName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)
}
