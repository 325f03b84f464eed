import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Icon } from '../../ui/icon.tsx'
import { useFold } from './frame.tsx'

export interface FoldProps {
  /** Under this name it is remembered. */
  id: string
  title: ComponentChildren
  isOpenAtFirst?: boolean
  class?: string
  children: () => ComponentChildren
}

/** A line that opens to more; what is folded is not drawn. */
export function Fold({ id, title, isOpenAtFirst = false, class: name = '', children }: FoldProps) {
  const [open, setOpen] = useFold(id, isOpenAtFirst)
  const body = useId()
  return (
    <div class={`fold ${name}`}>
      <button type="button" class="fold-title" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)}>
        <Icon name="chevron" />
        <span>{title}</span>
      </button>
      <div id={body} class="fold-body" hidden={!open}>
        {open && children()}
      </div>
    </div>
  )
}
