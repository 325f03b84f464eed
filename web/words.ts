/** Texts of the page in another language, by their English form. */
export type Words = Readonly<Record<string, string>>

let words: Words = {}

/** Before the first text is shown; another language takes a reload. */
export function speak(next: Words): void {
  words = next
}

/**
 * A text for the person who looks: `t('Delete {title}?', { title })`. The English sentence is its own key, and stands where a
 * language lacks it.
 */
export function t(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all))
}

/** `plural(2, '{n} file', '{n} files')` */
export const plural = (n: number, one: string, many: string): string => t(n === 1 ? one : many, { n })
