// Reads each frame as its type, and writes it again: `modelina FRAMES`. `made` makes a type by its name.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// lost gives where what is `wanted` is not what was written again. What is empty may be left out.
func lost(wanted any, written any, path string) []string {
	all := []string{}
	switch wanted := wanted.(type) {
	case map[string]any:
		members, _ := written.(map[string]any)
		for name, value := range wanted {
			all = append(all, lost(value, members[name], path+"/"+name)...)
		}
	case []any:
		items, _ := written.([]any)
		for at, value := range wanted {
			if at >= len(items) {
				return append(all, path)
			}
			all = append(all, lost(value, items[at], fmt.Sprint(path, "/", at))...)
		}
	case nil:
		// Go writes what is empty in the place of null.
	default:
		isEmpty := wanted == "" || wanted == false || wanted == 0.0
		if written != wanted && !(written == nil && isEmpty) {
			all = append(all, path)
		}
	}
	return all
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var frames [][2]json.RawMessage
	check(json.Unmarshal(text, &frames))
	for _, frame := range frames {
		var name string
		check(json.Unmarshal(frame[0], &name))
		value := made[name]()
		if err := json.Unmarshal(frame[1], value); err != nil {
			panic(fmt.Sprint(name, " ", err))
		}
		again, err := json.Marshal(value)
		check(err)
		var wanted, written any
		check(json.Unmarshal(frame[1], &wanted))
		check(json.Unmarshal(again, &written))
		for _, path := range lost(wanted, written, "") {
			panic(fmt.Sprint(name, " loses ", path))
		}
	}
	fmt.Println(len(frames))
}
