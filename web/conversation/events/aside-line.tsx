import { Icon } from '../../ui/icon.tsx'
import { plural } from '../../words.ts'
import type { Aside } from './entries.ts'
import { useFrame } from './frame.tsx'

/** Where the conversation was taken back: what had happened from there is kept, folded. */
export function AsideLine({ aside: { id, count, isOpen } }: { aside: Aside }) {
  const { toggleAside } = useFrame()
  return (
    <div class="entry aside-line fold">
      <button type="button" class="fold-title" aria-expanded={isOpen} onClick={() => toggleAside(id)}>
        <Icon name="chevron" />
        <Icon name="branch" />
        <span>{plural(count, '{n} event of another branch', '{n} events of another branch')}</span>
      </button>
    </div>
  )
}
