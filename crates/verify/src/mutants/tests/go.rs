use super::are;

#[test]
fn mistakes_in_go() {
    are(
        "cart/cart.go",
        r#"package cart

import (
	"errors"
	"fmt"
	"strings"
)

const limit = 10

type Cart struct {
	Name string `json:"name"`
	Items [4]int
}

func Total(c *Cart, name string) (int, error) {
	sum := 0
	for i := 0; i < len(c.Items); i++ {
		if c.Items[i] < 0 {
			continue
		}
		sum += c.Items[i]
	}
	fmt.Println("sum", sum+1)
	if name == "" || !c.ready {
		return 0, errors.New("no name")
	}
	if err := c.save(sum); err != nil {
		return 0, fmt.Errorf("saving %d: %w", 3, err)
	}
	c.note(sum)
	rest := c.rest()
	return rest, nil
}

func Label(c *Cart, name string) string {
	prefix := "a"
	name += prefix
	if c.ready {
		name = strings.TrimSpace(c.Name)
	}
	switch {
	case limit > 3:
		break
	}
	switch limit {
	case 1:
		return name
	}
	m := map[string]int{"a": 1, "b": 2}
	for {
		break
	}
	return prefix + name
}

func Ok(c *Cart) bool {
	return c.ready
}
"#,
        &[
            "9 `10` became `11`",
            "17 `0` became `1`",
            "18 `0` became `1`",
            "18 `<` became `<=`",
            "18 `<` became `>=`",
            "19 `c.Items[i] < 0` became `false`",
            "19 `c.Items[i] < 0` became `true`",
            "19 `<` became `<=`",
            "19 `<` became `>=`",
            "19 `0` became `1`",
            "20 `continue` became `break`",
            "22 `+=` became `-=`",
            r#"25 `name == "" || !c.ready` became `false`"#,
            r#"25 `name == "" || !c.ready` became `true`"#,
            "25 `==` became `!=`",
            r#"25 `""` became `"x"`"#,
            "25 `||` became `&&`",
            "25 `!` was removed",
            "28 `err != nil` became `false`",
            "28 `err != nil` became `true`",
            "28 `!=` became `==`",
            r#"29 the returned `fmt.Errorf("saving %d: %w", 3, err)` became `nil`"#,
            "31 `c.note(sum)` was removed",
            r#"37 `"a"` became `""`"#,
            "39 `c.ready` became `!(c.ready)`",
            "39 `c.ready` became `false`",
            "39 `c.ready` became `true`",
            "43 `>` became `<=`",
            "43 `>` became `>=`",
            "43 `3` became `4`",
            r#"48 the returned `name` became `""`"#,
            "50 `1` became `2`",
            "50 `2` became `3`",
            r#"54 the returned `prefix + name` became `""`"#,
            "58 the returned `c.ready` became `false`",
            "58 the returned `c.ready` became `true`",
        ],
    );
}
