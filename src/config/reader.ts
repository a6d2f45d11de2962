// Reads settings out of text: numbers, flags, lists, URLs. Which settings there are is left to others.

export type Environment = Readonly<Record<string, string | undefined>>

export type SettingsReader = ReturnType<typeof settingsReader>

/** Reads single settings; what is wrong with one is added to `problems`, and it counts as absent. */
export function settingsReader(environment: Environment, problems: string[]) {
  const text = (name: string): string | null => environment[name]?.trim() || null
  return {
    text,
    flag: (name: string): boolean => !['', '0', 'false', 'no', 'off'].includes((text(name) ?? '').toLowerCase()),
    /** Null where it is absent. */
    boolean(name: string): boolean | null {
      const value = text(name)?.toLowerCase() ?? null
      if (value === null) return null
      if (['1', 'true', 'yes', 'on'].includes(value)) return true
      if (!['0', 'false', 'no', 'off'].includes(value))
        problems.push(`${name} must be true or false, and is "${text(name)}"`)
      return false
    },
    list: (name: string): string[] =>
      (text(name) ?? '')
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    integer(name: string, min: number, max: number): number | null {
      const value = text(name)
      if (value === null) return null
      if (/^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value)
      problems.push(`${name} must be a whole number from ${min} to ${max}, and is "${value}"`)
      return null
    },
    oneOf<T extends string>(name: string, allowed: readonly T[]): T | null {
      const value = text(name)
      if (value === null) return null
      const found = allowed.find((entry) => entry === value)
      if (!found) problems.push(`${name} must be one of ${allowed.join(', ')}, and is "${value}"`)
      return found ?? null
    },
    /** An address below which things lie, without the slash at its end. */
    url(name: string): string | null {
      const value = text(name)
      if (value === null) return null
      const url = URL.parse(value)
      if (url && /^https?:$/.test(url.protocol) && !/[@?#]/.test(value)) return value.replace(/\/+$/, '')
      const what = `${name} must be an http or https URL without user, query and fragment`
      // A password may stand before the @.
      problems.push(value.includes('@') ? what : `${what}, and is "${value}"`)
      return null
    },
  }
}
